// Every operation on every device, against plain loops. Runs three times: on the emulated GPU, on a real one,
// and by PyTorch's operations.
#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>

#include "decoder/cpu/loops/loops.h"
#include "tests/support/any_gpu_plan.h"
#include "tests/support/operation_models.h"
#include "tests/support/plain_decode.h"

namespace headroom {
namespace {

/// Every fourth picture has more columns than loops take at once.
test::DecodeStyle style_of(uint64_t seed) {
  if (seed % 4 == 3)
    return {.most_frames = 2, .least_side = 2, .most_side = 3, .most_batch = 1, .more_columns = 66};
  return {.most_frames = 4, .least_side = 2, .most_side = 7, .most_batch = 1};
}

/// Decodes by a random plan for the CPU, with the loops of each instruction set that this processor has.
template <typename Draw>
void check_on_cpu(uint64_t seed, const Draw& draw) {
  const test::Scratch scratch;
  test::DrawnDecode decode = test::draw_decode(seed, style_of(seed), draw);
  std::optional<Array> plain;
  const kernels::NamedLoops fastest = kernels::fastest_loops();
  for (const kernels::NamedLoops& loops : kernels::loops_that_run()) {
    CAPTURE(loops.name);
    kernels::use_loops(loops);
    const Array tiled = test::decode_tiled(decode, scratch).picture;
    if (!plain)
      plain = test::plain_decode(decode.drawn.model, decode.latent_extent, seed, decode.latent, tiled.shape);
    CHECK(test::relative_error(tiled, *plain) <= test::kExact);
  }
  kernels::use_loops(fastest);
}

template <typename Draw>
void check_on_gpu(uint64_t seed, gpu::Gpu& gpu, const Draw& draw) {
  test::Random random(seed);
  test::DecodeStyle style = style_of(seed);
  style.device = gpu.kind();
  style.in_16_bits = seed % 2 == 1 || seed % 8 == 4;
  const test::DrawnRequest drawn = test::draw_request(seed, random, style, draw);
  const Plan plan = test::drawn_gpu_plan(drawn, random);
  const Array tiled = test::on_gpu(gpu, drawn.model, plan, drawn.latent, seed).picture;
  const Array plain =
      test::plain_decode(drawn.drawn.model, drawn.latent_extent, seed, drawn.latent, tiled.shape);
  const Dtype dtype = plan.request.dtype;
  CAPTURE(name_of(dtype));
  // Weights and tiles are rounded to 16 bits. copies_test.cpp finds kernels that round wrongly.
  const double tolerance = dtype == Dtype::fp32 ? test::kExact : dtype == Dtype::fp16 ? 0.006 : 0.05;
  CHECK(test::relative_error(tiled, plain) <= tolerance);
}

TEST_CASE("every operation gives the values of plain loops on every device") {
  const OpKind kind = kAllKinds[GENERATE(range(size_t{0}, kAllKinds.size()))];
  // Every plan has moves. Norms and linear attention read statistics and sums.
  if (operation(kind).table_name == nullptr || takes_statistics(kind)) return;
  const std::unique_ptr<gpu::Gpu> gpu = test::decoding_gpu();
  const auto draw = [&](test::Random& random) { return test::operation_model(kind, random); };
  const bool by_torch = gpu && gpu->kind() == DeviceKind::torch;
  for (uint64_t seed = 0; seed < (test::kSanitized ? 4 : by_torch ? 16 : 32); ++seed) {
    CAPTURE(name_of(kind), seed);
    if (!by_torch) check_on_cpu(seed, draw);
    if (gpu) check_on_gpu(seed, *gpu, draw);
  }
}

TEST_CASE("every strided convolution gives the values of plain loops on every device") {
  const std::unique_ptr<gpu::Gpu> gpu = test::decoding_gpu();
  int kept_first_frames = 0, own = 0, around = 0, repeated = 0;
  const auto draw = [&](test::Random& random) {
    Model model = test::strided_convolution_model(random);
    const ConvolutionTraits& traits = model.graph.op(model.graph.find_op("op")).convolution;
    kept_first_frames += traits.keeps_first_frame ? 1 : 0;
    own += traits.begins_at_own ? 1 : 0;
    around += traits.begins_at_own ? 0 : 1;
    repeated += traits.before_first == BeforeFirst::first_frame ? 1 : 0;
    return model;
  };
  const bool by_torch = gpu && gpu->kind() == DeviceKind::torch;
  for (uint64_t seed = 0; seed < (test::kSanitized ? 8 : 48); ++seed) {
    CAPTURE(seed);
    if (!by_torch) check_on_cpu(seed, draw);
    if (gpu) check_on_gpu(seed, *gpu, draw);
  }
  if (!test::kSanitized) CHECK(std::min({kept_first_frames, own, around, repeated}) > 0);
}

}  // namespace
}  // namespace headroom
