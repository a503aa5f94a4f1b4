// Runs on the emulated GPU, which also detects hazards, on a real one, and by PyTorch's executor.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "decoder/base/errors.h"
#include "decoder/session/gpu_streams.h"
#include "planner/cost/device_costs.h"
#include "tests/support/any_gpu_plan.h"
#include "tests/support/decoding_gpu.h"
#include "tests/support/sanitized.h"
#include "tests/support/streamed.h"
#include "tests/support/tiny_encoders.h"
#include "tests/support/tiny_model.h"
#include "tests/support/tiny_video.h"

namespace headroom {
namespace {

using test::frames_of;
using test::push;
using test::push_nowhere;
using test::Random;
using test::Streamed;
using test::streamed;

/// Streams on a GPU, and the most that they reserved.
struct OnGpu {
  OnGpu(const std::shared_ptr<const Model>& model, Dtype dtype, uint64_t seed)
      : gpu(test::decoding_gpu()),
        streams(gpu ? std::make_shared<GpuStreams>(model, gpu, dtype, test::random_source(seed)) : nullptr) {}
  /// Convolutions of libraries may add in another order for another number of frames.
  bool same_bits() const { return gpu->device() == "emulated GPU"; }
  std::shared_ptr<gpu::Gpu> gpu;
  std::shared_ptr<GpuStreams> streams;
};

StreamPlan stream_plan(const Model& model, const Plan& plan, int64_t block) {
  const ReservationSizes sizes =
      test::decoding_gpu() ? test::decoding_gpu()->reservation_sizes() : ReservationSizes{};
  return {plan, block, StreamLayouts(model, plan, block).memory(sizes)};
}

void check_equal(const Array& found, const Array& expected, const OnGpu& card) {
  CHECK(test::relative_error(found, expected) <= (card.same_bits() ? 0 : test::kExact));
}

/// A drawn plan of a drawn request, in drawn blocks, equals the plan's own decode of the whole clip.
void check_drawn(const Model& of_class, Random& random, uint64_t seed) {
  if (!of_class.decodes_clips) return;
  const auto model = std::make_shared<const Model>(of_class);
  CAPTURE(model->class_name, seed);
  const Extent latent{random.integer(2, 5), random.integer(1, 3), random.integer(1, 3)};
  const auto found_gpu = test::decoding_gpu();
  if (!found_gpu) return;
  const bool emulated = found_gpu->device() == "emulated GPU";
  const Dtype dtype = random.pick<Dtype>({Dtype::fp32, Dtype::fp32, emulated ? Dtype::bf16 : Dtype::fp32});
  const OnGpu card(model, dtype, seed);
  const Request request = test::request_for(*model, latent, random.integer(1, 2), dtype, card.gpu->kind());
  MemoryModel memory = planner::cuda_memory_model(model->graph);
  memory.block_bytes = random.pick<int64_t>({1, 700, 17'000, int64_t{4} << 20});
  test::RandomStyle style;
  style.keep = random.pick<double>({0, 0.3, 0.9});
  style.untiled_frames = 0.5;
  style.most_tiles = 8;
  style.form = ConvolutionAlgorithm::direct;
  PlanConfiguration configuration;
  configuration.weights = WeightResidency::resident;
  const int64_t micro_batch = random.integer(1, request.batch);
  Plan plan = test::random_plan(*model, request, micro_batch, style, memory, random, {}, configuration).plan;
  plan.limit_bytes = int64_t{1} << 29;
  const Array input = test::latent_for(*model, request, seed);
  const Array whole = test::on_gpu(*card.gpu, *model, plan, input, seed).picture;
  const int64_t block = random.integer(1, 4);
  const StreamPlan planned = stream_plan(*model, plan, block);
  auto stream = card.streams->open(planned);
  const auto next = [&](int64_t taken) { return std::min(input.shape[2] - taken, random.integer(1, 5)); };
  // Another process goes on with the state, with weights of its own.
  std::vector<std::unique_ptr<OnGpu>> others;
  const auto between = [&](std::unique_ptr<OpenStream>& running) {
    // The tests by PyTorch have one device with one reservation.
    if (!card.same_bits() || !random.chance(0.3)) return;
    others.push_back(std::make_unique<OnGpu>(model, dtype, seed));
    running = others.back()->streams->open(planned, running->state());
  };
  const Streamed found = streamed(stream, *model, request, input, next, between);
  CAPTURE(block, micro_batch, latent.t, request.batch);
  check_equal(found.clip, whole, card);
  CHECK(found.peak_bytes <= planned.memory.peak_bytes);
  CHECK(found.state_bytes <= planned.memory.state_bytes);
}

void check_drawn_classes(uint64_t begin, uint64_t end) {
  start_libraries(2);
  for (uint64_t seed = begin; seed < end; ++seed) {
    Random random(seed + 9100);
    check_drawn(test::model_of(test::random_wan_config(random)), random, seed);
    check_drawn(test::model_of(test::random_wan_22_config(random)), random, seed);
    check_drawn(test::model_of(test::random_taehv_config(random)), random, seed);
    check_drawn(test::model_of(test::random_seedvr2_config(random)), random, seed);
    check_drawn(test::model_of(test::random_ltx_video_config(random)), random, seed);
    check_drawn(test::random_wan_encoder(random).model, random, seed);
    check_drawn(test::random_wan_22_encoder(random).model, random, seed);
    check_drawn(test::random_ltx_video_encoder(random).model, random, seed);
    check_drawn(test::random_ltx2_encoder(random).model, random, seed);
  }
}

TEST_CASE(
    "on a GPU a clip in drawn blocks equals the whole clip for each class that can run block by block") {
  check_drawn_classes(0, 1);
}

TEST_CASE("on a GPU many clips in drawn blocks equal the whole clips", "[long]") {
  const std::unique_ptr<gpu::Gpu> gpu = test::decoding_gpu();
  const bool emulated = gpu && gpu->device() == "emulated GPU";  // each takes it 25 seconds
  check_drawn_classes(1, emulated ? 3 : 12);
}

/// A stream of a small Wan on the GPU, and a clip of it.
struct TinyStream {
  std::shared_ptr<const Model> model = std::make_shared<const Model>(test::model_of(test::tiny_wan_config()));
  OnGpu card{model, Dtype::fp32, 3};
  Request request;
  Array input;
  StreamPlan plan;
  int64_t state_bytes = 0;

  TinyStream() {
    start_libraries(2);
    if (!card.gpu) return;
    request = test::request_for(*model, {6, 3, 4}, 1, Dtype::fp32, card.gpu->kind());
    input = test::latent_for(*model, request, 3);
    plan = stream_plan(*model, test::unlimited(untiled_plan(*model, request)), 2);
  }
  std::unique_ptr<OpenStream> open() const { return card.streams->open(plan); }
  Array whole() const { return test::on_gpu(*test::decoding_gpu(), *model, plan.plan, input, 3).picture; }
  int64_t live_bytes() const { return card.streams->live_bytes(); }
};

TEST_CASE("streams on a GPU share one reservation under one limit, and move when it grows") {
  TinyStream tiny;
  if (!tiny.card.gpu) return;
  constexpr int64_t kStreams = 4;
  tiny.plan.plan.limit_bytes = tiny.plan.peak_bytes(kStreams);
  const bool reserves_all = GENERATE(false, true);
  tiny.plan.streams = reserves_all ? kStreams : 1;
  const Array whole = tiny.whole();
  std::vector<std::unique_ptr<OpenStream>> open;
  std::vector<std::unique_ptr<test::MemorySink>> clips;
  std::vector<int64_t> taken(kStreams, 0), made(kStreams, 0);
  const auto add = [&] {
    open.push_back(tiny.open());
    clips.push_back(std::make_unique<test::MemorySink>(test::picture_shape(*tiny.model, tiny.request)));
    const int64_t reserved = reserves_all ? kStreams : std::ssize(open);
    CHECK(tiny.live_bytes() <= tiny.plan.peak_bytes(reserved) - tiny.plan.memory.reserve_bytes);
  };
  add();
  Random random(11);
  for (int64_t left = kStreams; left > 0;) {
    if (std::ssize(open) < kStreams && random.chance(0.3)) add();
    const auto i = static_cast<size_t>(random.integer(0, std::ssize(open) - 1));
    if (open[i]->ended()) continue;
    const int64_t frames = std::min(tiny.input.shape[2] - taken[i], random.integer(1, 3));
    const int64_t ready = push(*open[i], tiny.input, {taken[i], taken[i] + frames}, *clips[i], made[i]);
    taken[i] += frames;
    made[i] += ready;
    if (frames == 0) --left;
  }
  for (const auto& clip : clips) check_equal(clip->picture, whole, tiny.card);
  CHECK_THROWS_WITH(tiny.open(), Catch::Contains("expected at most 4 streams"));
  open.pop_back();
  CHECK_NOTHROW(tiny.open());
  open.clear();
  CHECK(tiny.live_bytes() == 0);
}

TEST_CASE("state and peak of a stream on a GPU are known before its first block, and do not grow") {
  const TinyStream tiny;
  if (!tiny.card.gpu) return;
  const auto stream = tiny.open();
  push_nowhere(*stream, frames_of(tiny.input, {0, 5}));
  CHECK(tiny.plan.memory.state_bytes - stream->state_bytes() < tiny.card.gpu->reservation_sizes().page_bytes);
  const int64_t peak = stream->measured_peak_bytes();
  CHECK(peak <= tiny.plan.memory.peak_bytes);
  if (tiny.card.gpu->reservation_sizes().page_bytes == 1)
    CHECK(peak > tiny.plan.memory.peak_bytes * 98 / 100);
  for (int64_t i = 0; i < 9; ++i) push_nowhere(*stream, frames_of(tiny.input, {0, 1 + i % 3}));
  CHECK(stream->measured_peak_bytes() == peak);
  push_nowhere(*stream, frames_of(tiny.input, {0, 0}), true);
  CHECK(stream->state_bytes() == 0);
}

TEST_CASE("a block that fails ends its stream on a GPU, and no other one") {
  const TinyStream tiny;
  if (!tiny.card.gpu) return;
  const auto failing = tiny.open(), other = tiny.open();
  Array block = frames_of(tiny.input, {0, 2});
  push_nowhere(*other, block);
  for (float& value : block.values) value = 3e38F;
  CHECK_THROWS_AS(push_nowhere(*failing, block), InputError);
  CHECK_THROWS_WITH(push_nowhere(*failing, block), Catch::Contains("has ended"));
  const auto third = tiny.open();  // moves the others
  CHECK_NOTHROW(push_nowhere(*other, frames_of(tiny.input, {2, 4})));
  CHECK_NOTHROW(push_nowhere(*third, frames_of(tiny.input, {0, 4})));
}

TEST_CASE("a plan for another device or dtype, or with too little memory, opens no stream on a GPU") {
  TinyStream tiny;
  if (!tiny.card.gpu) return;
  StreamPlan other = tiny.plan;
  other.plan.request.dtype = Dtype::bf16;
  CHECK_THROWS_WITH(tiny.card.streams->open(other), Catch::Contains("in fp32, found one for"));
  other = tiny.plan;
  --other.memory.peak_bytes;
  CHECK_THROWS_WITH(tiny.card.streams->open(other), Catch::Contains("are state; planned"));
  CHECK(tiny.card.streams->open_streams() == 0);
}

}  // namespace
}  // namespace headroom
