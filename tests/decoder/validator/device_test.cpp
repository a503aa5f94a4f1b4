#include <catch2/catch.hpp>
#include <limits>

#include "decoder/schedule/build_plan.h"
#include "decoder/schedule/gpu_layout.h"
#include "decoder/schedule/storage.h"
#include "tests/decoder/validator/validator_check.h"

namespace headroom {
namespace {

using testing::accepts;
using testing::refuses;
using testing::small_graph;
using testing::small_plan;
using testing::small_plan_below;

/// Parameters of small_graph(3) in bf16, as tests/decoder/schedule/gpu_layout_test.cpp counts them, and its
/// statistics.
constexpr int64_t kWeightBytes = 3840;
constexpr int64_t kStateBytes = 2 * 512 + 76'032 + 208;

Plan on_cuda(Plan plan) {
  plan.request.device = DeviceKind::cuda;
  plan.request.dtype = Dtype::bf16;
  plan.weights_bytes = kWeightBytes;
  plan.limit_bytes = plan.predicted_peak_bytes = 100'000;
  for (Pass& pass : plan.passes) pass.predicted_peak_bytes = 100'000;
  return plan;
}

TEST_CASE("validator: on CUDA tiles, blocks and kernels are in the dtype", "[unit][validator]") {
  const Graph graph = small_graph();
  Plan plan = on_cuda(small_plan(graph));
  accepts(plan, graph);
  // Blocks and tiles are half as large as in fp32 on the CPU (memory_test.cpp). The latent is not.
  const int64_t resident = kWeightBytes + plan.reserve_bytes + 2048 + kStateBytes;
  const std::vector<int64_t> working{(3072 + 1280 + 1024) / 2, (5120 + 3200 + 1536) / 2,
                                     (4096 + 5120 + 1152) / 2};
  for (size_t p = 0; p < 3; ++p) {
    CAPTURE(p);
    Plan tight = plan;
    tight.passes[p].predicted_peak_bytes = resident + working[p];
    accepts(tight, graph);
    tight.passes[p].predicted_peak_bytes -= 1;
    refuses(tight, graph, Violation::peak_understated,
            "passes[" + std::to_string(p) + "].predicted.peak_bytes");
  }
  plan.weights_bytes -= 1;
  refuses(plan, graph, Violation::peak_understated, "weights_bytes");
}

TEST_CASE("validator: weights in pinned memory are all there, for passes that bring in theirs",
          "[unit][validator]") {
  const Graph graph = small_graph();
  Plan plan = on_cuda(small_plan(graph));
  plan.weights = WeightResidency::per_pass;
  plan.host_weights_bytes = kWeightBytes;
  accepts(plan, graph);
  const auto refuses_with = [&](const auto& change, Violation::Kind violation, const char* place) {
    Plan other = plan;
    change(other);
    refuses(other, graph, violation, place);
  };
  const char* key = "host_weights_bytes";
  refuses_with([](Plan& p) { p.host_weights_bytes -= 1; }, Violation::malformed, key);
  refuses_with([](Plan& p) { p.host_weights_bytes = -1; }, Violation::malformed, key);
  refuses_with([](Plan& p) { p.weights = WeightResidency::resident; }, Violation::malformed, key);
  refuses_with([](Plan& p) { p.request.device = DeviceKind::cpu; }, Violation::malformed, key);
  plan.host_limit_bytes = kWeightBytes;
  accepts(plan, graph);
  refuses_with([](Plan& p) { p.host_limit_bytes -= 1; }, Violation::peak_above_limit, "host_limit_bytes");
}

TEST_CASE("validator: convolutions on CUDA that add and write blocks", "[unit][validator]") {
  const Graph graph = small_graph(), point = small_graph(1);
  const auto fused = [&] { return on_cuda(testing::small_plan_fused(graph, false)); };
  const auto in_place = [&] {
    Plan plan = on_cuda(testing::small_plan_fused(point, true));
    plan.weights_bytes = plan.predicted_peak_bytes / 10;
    return plan;
  };
  accepts(fused(), graph);
  accepts(in_place(), point);
  const auto refused = [&](Plan plan, const Graph& of, Violation::Kind kind, const std::string& place,
                           const auto& change) {
    change(plan);
    refuses(plan, of, kind, place);
  };
  const std::string writer = "passes[1].steps[1] (residual)", first = "passes[0].steps[1] (conv_in)";
  const auto of_writer = [](Plan& plan) -> Step& { return plan.passes[1].steps[1]; };
  refused(fused(), graph, Violation::malformed, first,
          [](Plan& plan) { plan.request.device = DeviceKind::cpu; });
  refused(fused(), graph, Violation::malformed, writer,
          [&](Plan& plan) { of_writer(plan).add = of_writer(plan).op; });
  refused(fused(), graph, Violation::malformed, writer, [&](Plan& plan) { of_writer(plan).add = OpId{99}; });
  refused(fused(), graph, Violation::malformed, writer, [&](Plan& plan) { of_writer(plan).add = OpId{-1}; });
  refused(fused(), graph, Violation::malformed, writer,
          [&](Plan& plan) { of_writer(plan).inputs.pop_back(); });
  refused(fused(), graph, Violation::malformed, writer,
          [&](Plan& plan) { of_writer(plan).inputs.back().tensor = graph.input(); });
  refused(fused(), graph, Violation::malformed, writer,
          [&](Plan& plan) { of_writer(plan).target = StepTarget::in_place; });
  refused(fused(), graph, Violation::computed_twice, first,
          [](Plan& plan) { plan.passes[0].steps[1].halo = testing::kOneAround; });
  refused(fused(), graph, Violation::malformed, "passes[1].steps[0] (norm)",
          [](Plan& plan) { plan.passes[1].steps[0].target = StepTarget::blocks; });
  // A step that reads the tile which the convolution no longer makes, and a tensor that nothing writes.
  refused(fused(), graph, Violation::malformed, "passes[0].steps[2] (norm.statistics)",
          [](Plan& plan) { plan.passes[0].steps[2].inputs[0].step = 1; });
  refused(fused(), graph, Violation::skipped_region, "kept[0] (conv_in)",
          [](Plan& plan) { plan.passes[0].steps[1].target = StepTarget::tile; });
  // Adds onto another tensor than the one whose blocks it takes over.
  refused(in_place(), point, Violation::malformed, writer,
          [&](Plan& plan) { of_writer(plan).target = StepTarget::blocks; });
  refused(in_place(), point, Violation::malformed, writer,
          [&](Plan& plan) { plan.kept[1].in_place_of = TensorId{-1}; });
  // Each item has six blocks and the convolution's input: the blocks that the convolution writes live beside
  // the ones that it reads, and it has no tile.
  Plan tight = fused();
  const int64_t resident = kWeightBytes + tight.reserve_bytes + 2048 + kStateBytes;
  const int64_t working = (6 * 1024 + 3200) / 2;
  tight.passes[1].predicted_peak_bytes = resident + working;
  accepts(tight, graph);
  tight.passes[1].predicted_peak_bytes -= 1;
  refuses(tight, graph, Violation::peak_understated, "passes[1].predicted.peak_bytes");
}

TEST_CASE("validator: what CUDA does not have is refused", "[unit][validator]") {
  const Graph graph = small_graph();
  Plan winograd = on_cuda(small_plan(graph));
  winograd.passes[1].convolutions = ConvolutionAlgorithm::winograd;
  refuses(winograd, graph, Violation::malformed, "passes[1].convolutions");

  Plan scratch = on_cuda(small_plan_below(graph));
  refuses(scratch, graph, Violation::malformed, "kept[0] (conv_in).tier");
  scratch.kept[0].tier = MemoryTier::host;
  scratch.host_limit_bytes = 1 << 20;
  accepts(scratch, graph);

  Plan rounded = on_cuda(small_plan(graph));
  rounded.request.dtype = Dtype::fp32;
  rounded.weights_bytes = 2 * kWeightBytes;
  rounded.request.tf32.products = true;
  accepts(rounded, graph);
  rounded.request.device = DeviceKind::cpu;
  refuses(rounded, graph, Violation::malformed, "request.tf32");
  rounded.request.device = DeviceKind::cuda;
  rounded.request.dtype = Dtype::bf16;
  refuses(rounded, graph, Violation::malformed, "request.tf32");

  Plan unknown = on_cuda(small_plan(graph));
  unknown.request.device = static_cast<DeviceKind>(7);
  refuses(unknown, graph, Violation::malformed, "request.device");
}

TEST_CASE("validator: on CUDA no tile has more values than 32 bits count", "[unit][validator]") {
  // 2^31 values are one too many; the latent is 2^24 positions long, so that rows and columns fit as well.
  for (const int64_t columns : {int64_t{1} << 23, (int64_t{1} << 23) - 1}) {
    CAPTURE(columns);
    Model model;
    const TensorId latent = model.graph.add_latent(256);
    model.graph.set_output(model.graph.conv("out", latent, 1, {1, 1, 1}));
    Request request{"wide", columns, 1, 1, 1, Dtype::fp32, DeviceKind::cuda};
    Plan plan = untiled_plan(model, request);
    const std::vector<Violation> found = validate(plan, model.graph, {1, 1, columns});
    INFO(testing::to_text(found));
    REQUIRE(found.empty() == (columns < int64_t{1} << 23));
    if (!found.empty()) CHECK(found[0].place == "passes[0].steps[0] (latent)");
    request.device = DeviceKind::cpu;
    CHECK(validate(untiled_plan(model, request), model.graph, {1, 1, columns}).empty());
  }
}

/// Violations of a plan whose stated peaks are lowered by `bytes`.
std::vector<Violation> with_less(Plan plan, const Graph& graph, const Extent& extent, int64_t bytes) {
  plan.predicted_peak_bytes = 0;
  for (Pass& pass : plan.passes) {
    pass.predicted_peak_bytes -= bytes;
    plan.predicted_peak_bytes = std::max(plan.predicted_peak_bytes, pass.predicted_peak_bytes);
  }
  return validate(plan, graph, extent);
}

TEST_CASE("validator: statistics by frame and sums of keys and values count on CUDA", "[unit][validator]") {
  Model model;
  Graph& graph = model.graph;
  const TensorId latent = graph.add_latent(8);
  const TensorId by_frame = graph.statistics("s", latent, 2, 1e-6, true);
  const TensorId normal = graph.norm("n", latent, by_frame, Activation::none);
  const TensorId pieces = graph.conv("pieces", normal, 144, {1, 1, 1});
  const TensorId more = graph.conv("more", pieces, 48, {1, 1, 1});
  const TensorId sums = graph.key_value_sums("sums", {pieces, more}, 16);
  graph.set_output(graph.linear_attention("mix", {pieces, more}, sums, 1e-15));
  const Request request{"heads", 6, 4, 5, 1, Dtype::fp16, DeviceKind::cuda};
  const Extent extent{5, 4, 6};
  const Plan plan = untiled_plan(model, request);
  REQUIRE(validate(plan, graph, extent).empty());
  // Five frames of two groups and of eight channels, four heads of 16 * 17 sums, three of them gathered at
  // once.
  const int64_t state = device_state_bytes(graph, sizes_of(graph, plan));
  CHECK(state == gpu_storage().allocated_bytes(256 + 512 + 8704 + 32 * 3 * 272 * 4));
  // Roundings elsewhere are smaller than the buffer that gathers sums.
  const std::vector<Violation> found = with_less(plan, graph, extent, 32 * 3 * 272 * 4);
  REQUIRE_FALSE(found.empty());
  CHECK(found[0].kind == Violation::peak_understated);
}

TEST_CASE("validator: of many channels fewer segments' statistics count on CUDA", "[unit][validator]") {
  Model model;
  Graph& graph = model.graph;
  const TensorId many = graph.add_latent(640);
  graph.set_output(graph.norm("n", many, graph.statistics("s", many, 2, 1e-6), Activation::none));
  const Request request{"wide", 4, 4, 1, 1, Dtype::fp16, DeviceKind::cuda};
  const Extent extent{1, 4, 4};
  const Plan plan = untiled_plan(model, request);
  REQUIRE(validate(plan, graph, extent).empty());
  // A fifth of the segments, three moments of each of two groups in each.
  const std::vector<Violation> found = with_less(plan, graph, extent, 316 * 2 * 3 * 24);
  REQUIRE_FALSE(found.empty());
  CHECK(found[0].kind == Violation::peak_understated);
}

}  // namespace
}  // namespace headroom
