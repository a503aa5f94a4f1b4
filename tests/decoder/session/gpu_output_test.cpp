// Output of pictures from an emulated GPU during whole decodes.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <memory>
#include <vector>

#include "decoder/base/errors.h"
#include "decoder/files/eight_bit.h"
#include "decoder/schedule/build_plan.h"
#include "decoder/session/gpu_session.h"
#include "planner/cost/cost_model.h"
#include "planner/explain/why_not.h"
#include "planner/search/finish_plan.h"
#include "planner/search/make_plan.h"
#include "tests/decoder/files/png_file.h"
#include "tests/decoder/files/scratch.h"
#include "tests/emulated_gpu/emulated_gpu.h"
#include "tests/support/decoding.h"
#include "tests/support/decoding_gpu.h"
#include "tests/support/exact_costs.h"
#include "tests/support/late_gpu.h"
#include "tests/support/random_plan.h"
#include "tests/support/sanitized.h"
#include "tests/support/tiny_model.h"

namespace headroom {
namespace {

using gpu::EmulatedGpu;
using test::LateGpu;
using test::on_gpu;
using test::picture_shape;
using test::Scratch;

/// A batch of two pictures in micro-batches of one. Each picture has several tiles.
struct Ready {
  Model model = test::model_of(test::tiny_config({16, 32}));
  Request request = test::request_for(model, {1, 8, 8}, 2, Dtype::fp32, DeviceKind::cuda);
  Plan plan;
  Array latent = test::latent_for(model, request, 5);

  Ready() {
    const planner::CostModel costs = test::exact_costs(model.graph);
    planner::PlanOptions options;
    options.limit_bytes = planner::why_not({model, request, {.limit_bytes = 1}, costs}).smallest_limit_bytes;
    plan = planner::make_plan({model, request, options, costs}).value();
    REQUIRE(plan.micro_batch == 1);
    plan = with_halved_tiles(model, with_halved_tiles(model, plan, {}), {});
    plan.limit_bytes = int64_t{1} << 29;
    planner::add_gaps(plan, model);
    REQUIRE(plan.passes.back().tiles.y.size() > 2);
  }
  RunStats decode_into(PictureSink& sink, gpu::Gpu& gpu, const ParameterSource& weights) const {
    start_libraries(2);
    return decode(model, plan, weights, latent, sink, {nullptr, {}, &gpu});
  }
};

TEST_CASE("a .png from a GPU has the bytes of the values that a .npy has, however late the GPU is") {
  const Ready ready;
  EmulatedGpu emulated;
  const Array values = on_gpu(emulated, ready.model, ready.plan, ready.latent, 5).picture;
  const PictureShape shape = picture_shape(ready.model, ready.request);
  const auto plane = static_cast<size_t>(shape.rows * shape.columns);
  // -1: work is not deferred.
  for (const int work_between : test::kSanitized ? std::vector{3} : std::vector{-1, 0, 3}) {
    CAPTURE(work_between);
    LateGpu late(emulated, std::max(0, work_between));
    gpu::Gpu& gpu = work_between < 0 ? static_cast<gpu::Gpu&>(emulated) : late;
    CHECK(on_gpu(gpu, ready.model, ready.plan, ready.latent, 5).picture.values == values.values);
    const Scratch scratch;
    const auto sink = open_sink(scratch / "o.png", shape);
    ready.decode_into(*sink, gpu, test::random_source(5));
    sink->finish();
    for (int64_t item = 0; item < shape.items; ++item) {
      const float* picture = values.values.data() + static_cast<size_t>(item * shape.channels) * plane;
      std::vector<float> pixels(3 * plane);
      for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = picture[i % 3 * plane + i / 3];
      std::vector<uint8_t> bytes(pixels.size());
      quantise(pixels.data(), static_cast<int64_t>(pixels.size()), bytes.data());
      CHECK(test::read_png(path_of_item(scratch / "o.png", item, shape.items), 3).bytes == bytes);
    }
  }
}

std::string message_of(const std::function<void()>& decode) {
  try {
    decode();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST_CASE("a value that is not finite ends a decode in the words of the CPU, and leaves no file") {
  Ready ready;
  std::string spoilt = "none";
  SECTION("in the last picture's latent") {
    ready.latent.values.back() = std::nanf("");
  }
  SECTION("in a layer in the middle") {
    spoilt = "decoder.mid_block.resnets.1.conv1.bias";
  }
  SECTION("in the last layer") {
    spoilt = "decoder.conv_out.bias";
  }
  const ParameterSource weights = [&, sound = test::random_source(5)](const Parameter& parameter,
                                                                      const Interval& elements, float* out) {
    sound(parameter, elements, out);
    if (parameter.name == spoilt) std::fill_n(out, elements.length(), INFINITY);
  };
  Request on_cpu = ready.request;
  on_cpu.device = DeviceKind::cpu;
  const PictureShape shape = picture_shape(ready.model, ready.request);
  const std::string expected = message_of([&] {
    DiscardingSink sink(shape);
    start_libraries(2);
    decode(ready.model, untiled_plan(ready.model, on_cpu), weights, ready.latent, sink);
  });
  CHECK_THAT(expected, Catch::Contains("its output is not finite"));
  EmulatedGpu emulated;
  for (const auto& [name, work_between] : {std::pair{"o.png", 0}, {"o.npy", 1000}}) {
    LateGpu late(emulated, work_between);
    const Scratch scratch;
    {
      const auto sink = open_sink(scratch / name, shape);
      CHECK(message_of([&] { ready.decode_into(*sink, late, weights); }) == expected);
    }
    CHECK(scratch.files().empty());
    CHECK(emulated.reserved_bytes() == 0);
  }
}

/// Fails after this many regions.
class FullSink final : public PictureSink {
 public:
  FullSink(const PictureShape& shape, int regions) : PictureSink(shape), left_(regions) {}

 private:
  void put(int64_t, const Region&, const float*) override {
    if (left_-- == 0) throw DeviceError("the disk is full");
  }
  void complete() override {}
  int left_;
};

TEST_CASE("a sink that fails ends the decode with its own words, and the session goes on") {
  const Ready ready;
  EmulatedGpu emulated;
  LateGpu late(emulated, 2);
  const PictureShape shape = picture_shape(ready.model, ready.request);
  const Array values = on_gpu(emulated, ready.model, ready.plan, ready.latent, 5).picture;
  start_libraries(2);
  const ParameterSource weights = test::random_source(5);
  const std::vector<Plan> plans{ready.plan};
  GpuSession session({ready.model, weights, plans}, late);
  for (const int regions : test::kSanitized ? std::vector{4} : std::vector{0, 4}) {
    FullSink full(shape, regions);
    CHECK_THROWS_WITH(session.decode(0, ready.latent, full, nullptr), "the disk is full");
    test::MemorySink sink(shape);
    session.decode(0, ready.latent, sink, nullptr);
    sink.finish();
    CHECK(sink.picture.values == values.values);
  }
}

}  // namespace
}  // namespace headroom
