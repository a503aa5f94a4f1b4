#include <catch2/catch.hpp>
#include <limits>
#include <nlohmann/json.hpp>

#include "decoder/base/errors.h"
#include "decoder/families/load_model.h"
#include "decoder/schedule/gpu_layout.h"
#include "decoder/schedule/storage.h"
#include "decoder/validator/validator.h"
#include "planner/cost/device_costs.h"
#include "planner/cost/profile_check.h"
#include "planner/search/make_plan.h"
#include "tests/decoder/plan/small_plan.h"
#include "tests/support/causal_attention.h"
#include "tests/support/tiny_model.h"

namespace headroom::planner {
namespace {

TEST_CASE("blocks are read and written below the device at the same time on CUDA, one after another else") {
  const Graph graph = testing::small_graph();
  const auto transfers = [&](DeviceKind device) {
    CostModel::Transfers moved;
    const CostModel costs(graph, device);
    costs.add_transfer(moved, MemoryTier::host, false, 2 * 44.9e9);
    costs.add_transfer(moved, MemoryTier::host, true, 44.9e9);
    return moved;
  };
  // Ten bands. Transfers take two seconds to the GPU and one second back.
  CHECK(CostModel::sweep_seconds(5, transfers(DeviceKind::cuda), 10) == Approx(5 + 0.2 + 0.1));
  CHECK(CostModel::sweep_seconds(0.5, transfers(DeviceKind::cuda), 10) == Approx(2 + 0.05 + 0.1));
  CHECK(CostModel::sweep_seconds(5, transfers(DeviceKind::cuda), 1) == Approx(8));
  CHECK(CostModel::sweep_seconds(5, transfers(DeviceKind::cpu), 10) == Approx(3 * 44.9 / 12 + 0.5));
}

TEST_CASE("workspace on CUDA: attention by chunks of one frame, convolutions by their tiles") {
  const Model model = resolve_model("sdxl");
  const Graph& graph = model.graph;
  const MemoryModel memory = cuda_memory_model(graph);
  const auto workspace = [&](const char* op, Dtype dtype) {
    return memory.workspace_bytes(graph.op(graph.find_op(op)), ConvolutionAlgorithm::direct, {1, 64, 128},
                                  {{1, 128, 128}, 2, dtype, DeviceKind::cuda});
  };
  // Scores of 8448 queries by 1024 keys, twice. Results of 8192 queries by 512 channels, plus three numbers
  // each. 8 MiB on top.
  for (const Dtype dtype : {Dtype::bf16, Dtype::fp32})
    CHECK(workspace("decoder.mid_block.attentions.0.attention", dtype) ==
          (2 * 8448 * 1024 + 8192 * (512 + 3)) * 4 + (8 << 20));
  CHECK(workspace("decoder.conv_in", Dtype::bf16) ==
        gpu_storage().allocated_bytes((66 * 130 * 4 + 64 * 128 * 512) * 2));
  CHECK(workspace("decoder.conv_norm_out", Dtype::bf16) == 0);
  CHECK(memory.reserve_bytes == 0);
  CHECK(memory.reserve_bytes_per_pixel == 0);
}

TEST_CASE("workspace of attention with all frames before is that of chunks, however many frames") {
  const Graph graph = test::causal_attention_model(512, false).graph;
  const Op& attention = graph.op(graph.find_op("mid.attention"));
  for (const DeviceKind device : {DeviceKind::cpu, DeviceKind::cuda}) {
    const MemoryModel memory = memory_model_of(graph, device_record(device));
    const auto workspace = [&](int64_t frames) {
      return memory.workspace_bytes(attention, ConvolutionAlgorithm::direct, {1, 9, 160},
                                    {{frames, 90, 160}, 1, Dtype::bf16, device});
    };
    CHECK(workspace(1) > 0);
    CHECK(workspace(33) == workspace(1));
  }
}

TEST_CASE("plans for CUDA have one algorithm of convolutions, and nothing in files") {
  const Model model = resolve_model("sdxl");
  const CostModel costs(model.graph, DeviceKind::cuda);
  const Request request{"sdxl", 1024, 1024, 1, 1, Dtype::bf16, DeviceKind::cuda};
  const Plan ample = make_plan({model, request, {.limit_bytes = int64_t{100} << 30}, costs}).value();
  CHECK(ample.optimal);
  CHECK(ample.assumed);
  CHECK(ample.reserve_bytes <= ample.predicted_peak_bytes / 150);  // small gaps are fine
  for (const Pass& pass : ample.passes) CHECK(pass.convolutions == ConvolutionAlgorithm::direct);
  const Plan tight = make_plan({model, request, {.limit_bytes = int64_t{1} << 30}, costs}).value();
  CHECK(tight.predicted_peak_bytes <= int64_t{1} << 30);
  CHECK(tight.predicted_seconds > ample.predicted_seconds);
  CHECK(validate(tight, model).empty());

  PlanOptions files{.limit_bytes = int64_t{1} << 30, .scratch_limit_bytes = 1 << 20, .scratch_folder = "/"};
  CHECK_THROWS_AS(make_plan({model, request, files, costs}), InputError);
  CHECK_THROWS_AS(make_plan({model, request, {.limit_bytes = int64_t{1} << 30}, CostModel(model.graph)}),
                  std::logic_error);
}

TEST_CASE("on CUDA no tile has more values than its libraries count") {
  const Model model = resolve_model("sdxl");
  const CostModel costs(model.graph, DeviceKind::cuda);
  const Request request{"sdxl", 8192, 8192, 1, 1, Dtype::bf16, DeviceKind::cuda};
  const Plan plan = make_plan({model, request, {.limit_bytes = int64_t{1} << 40}, costs}).value();
  const Sizes sizes = sizes_of(model.graph, plan);
  int64_t most = 0;
  for (const Pass& pass : plan.passes) {
    const Extent tile{1, pass.tiles.y[0].length(), pass.tiles.x[0].length()};
    for (const Step& step : pass.steps) {
      if (!makes_tile(step)) continue;
      most = std::max(most, positions(largest_tile(model.graph, pass, step, tile, sizes)) *
                                model.graph.tensor(step.tensor).channels);
    }
  }
  CHECK(most <= gpu::kMostTileValues);
  CHECK(most > gpu::kMostTileValues / 4);
}

TEST_CASE("a profile is refused for another kind of device than it was measured on") {
  const Model model = test::model_of(test::tiny_config());
  profiler::Profile profile;
  profile.device = "a processor, 2 threads";
  const Request request{"tiny", 24, 24, 1, 1, Dtype::fp32, DeviceKind::cuda};
  CHECK_THROWS_WITH(
      check_profiled_model(profile, "profile.json", model.graph, request),
      Catch::StartsWith("profile.json: device: measured on cpu (\"a processor, 2 threads\"), the "
                        "plan is for cuda"));
  profile.device_kind = DeviceKind::cuda;
  Request on_cpu = request;
  on_cpu.device = DeviceKind::cpu;
  CHECK_THROWS_WITH(check_profiled_model(profile, "profile.json", model.graph, on_cpu),
                    Catch::Contains("measured on cuda") && Catch::Contains("the plan is for cpu"));
  // A profile must name its libraries, even if only a decode can compare them.
  CHECK_THROWS_WITH(check_profiled_machine(profile, "profile.json"),
                    Catch::StartsWith("profile.json: libraries: expected what was measured"));
  profile.libraries = "LibTorch";
  CHECK_NOTHROW(check_profiled_machine(profile, "profile.json"));
}

}  // namespace
}  // namespace headroom::planner
