#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "decoder/families/built_in_models.h"
#include "decoder/files/picture_sink.h"
#include "decoder/gpu/dry_run.h"
#include "decoder/gpu/gpu_device.h"
#include "decoder/interpreter/interpreter.h"
#include "decoder/schedule/build_plan.h"
#include "planner/cost/cost_model.h"
#include "planner/search/make_plan.h"
#include "tests/emulated_gpu/accesses.h"
#include "tests/support/tiny_model.h"

namespace headroom {
namespace {

/// Counts the bytes that each pass reads and writes. Computes nothing.
class Traffic final : public DryGpu, public EventSink {
 public:
  struct OfPass {
    int64_t call_bytes = 0;
    int64_t convolutions = 0;
    int64_t pieces = 0;  ///< contiguous ranges that convolutions write
  };
  std::vector<OfPass> passes;

  void pass_started(const Plan& plan, int32_t pass) override {
    passes.resize(plan.passes.size());
    pass_ = static_cast<size_t>(pass);
  }
  void run(const gpu::Call& call) override {
    if (passes.empty()) return;
    OfPass& pass = passes[pass_];
    const auto* convolution = std::get_if<gpu::Convolve>(&call);
    if (convolution != nullptr) {
      ++pass.convolutions;
      pass.pieces += pieces_of(convolution->target, convolution->region.y);
    }
    for (const gpu::Access& access : gpu::accesses_of(call)) {
      // A library may use any part of a convolution's workspace. These models' kernels use none, except over
      // upsampling.
      if (convolution != nullptr && access.begin == convolution->workspace) continue;
      pass.call_bytes += access.bytes;
    }
  }

 private:
  static int64_t pieces_of(const gpu::View& view, const gpu::Span& rows) {
    const int64_t block_bytes = int64_t{view.block_rows} * (view.region.x.end - view.region.x.begin) *
                                view.channels * bytes_per_element(view.dtype);
    int64_t pieces = 1;
    const int32_t first = (rows.begin - view.region.y.begin) / view.block_rows;
    for (int32_t i = first + 1; i <= (rows.end - 1 - view.region.y.begin) / view.block_rows; ++i)
      pieces += (view.block_units[i] - view.block_units[i - 1]) * gpu::kBlockUnit != block_bytes ? 1 : 0;
    return pieces;
  }

  size_t pass_ = 0;
};

Plan planned(const Model& model, int64_t pixels, int64_t limit_bytes) {
  Request request;
  request.width_pixels = request.height_pixels = pixels;
  request.dtype = Dtype::bf16;
  request.device = DeviceKind::cuda;
  planner::PlanOptions options;
  options.limit_bytes = limit_bytes;
  return planner::make_plan({model, request, options, planner::CostModel(model.graph, DeviceKind::cuda)})
      .value();
}

/// Calls of a decode, at the addresses of its dry run.
Traffic traffic_of(const Model& model, const Plan& plan) {
  const DryRun dry_run = run_dry(model, plan);
  const auto memory = std::make_shared<GpuMemory>(reinterpret_cast<std::byte*>(uintptr_t{1} << 40),
                                                  dry_run.requests, dry_run.placement, 0);
  Traffic gpu;
  const HostWeights none = no_host_weights();
  PinnedStaging staging(gpu);
  const GpuWeights weights(model.graph, all_operations(model.graph), plan.request.dtype,
                           std::shared_ptr<void>(reinterpret_cast<void*>(uintptr_t{1} << 44), [](void*) {}),
                           GpuWeights::Loading{none, staging});
  class Device final : public GpuDevice {
   public:
    using GpuDevice::GpuDevice;
    void load_latent(const ArrayView&, int64_t, const MapView&, int64_t) override {}
    void emit(const MapView&, const Region&, int64_t, int64_t, const std::string&, PictureSink&) override {}
  } device(model.graph, plan, *memory, WeightSource{none, &weights}, staging);
  DiscardingSink sink({1, 1, 1, 1, 1});
  Interpreter(model, plan, device, nullptr, &gpu).run(Array{}, 0, sink);
  return gpu;
}

/// Traffic of a residual block at full resolution without a convolution in its shortcut, as a multiple of its
/// tensor size.
struct OfBlock {
  double call_tensors = 0;
  int64_t convolutions = 0, pieces = 0;
  int64_t written_bytes = 0;  ///< by convolutions
};
OfBlock block_of(const Model& model, const Plan& plan) {
  const Traffic traffic = traffic_of(model, plan);
  OfBlock block;
  for (size_t i = 0; i < plan.passes.size(); ++i) {
    if (plan.passes[i].name.find("up_blocks.3.resnets.1") == std::string::npos) continue;
    const TensorId id = model.graph.find_tensor(plan.passes[i].name);
    const auto bytes =
        double(bytes_of(model.graph.tensor(id), sizes_of(model.graph, plan).latent, 1, Dtype::bf16));
    block.call_tensors += double(traffic.passes[i].call_bytes) / bytes;
    block.convolutions += traffic.passes[i].convolutions;
    block.pieces += traffic.passes[i].pieces;
    block.written_bytes += static_cast<int64_t>(bytes);
  }
  return block;
}

TEST_CASE("a residual block moves few tensors", "[long]") {
  const Model model = test::model_of(nlohmann::json::parse(*built_in_config("sdxl")));
  for (const int64_t pixels : {1024, 2048}) {
    const OfBlock as_planned = block_of(model, planned(model, pixels, int64_t{40} << 30));
    CAPTURE(pixels, as_planned.call_tensors);
    // 15 tensors if convolutions write tiles that are then copied and added. Halos are read more than once.
    CHECK(as_planned.call_tensors <= 11.5);
    CHECK(as_planned.convolutions >= 2);
    // Single blocks of 4 MiB would not fill a card, so most of them must be contiguous.
    CHECK(as_planned.written_bytes / as_planned.pieces >= 8 << 20);
  }
}

}  // namespace
}  // namespace headroom
