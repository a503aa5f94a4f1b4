#include "decoder/gpu/calls/plain_view.h"
#include "decoder/gpu/gpu_steps.h"
#include "decoder/operations/depth_to_space.h"
#include "decoder/operations/space_to_depth.h"

namespace headroom::gpu_steps {
namespace {

/// Queues one call for each item. `rest` initialises the members behind source and target.
template <typename Type, typename... Rest>
void run_items(GpuSteps& steps, const StepCall& call, const Rest&... rest) {
  for (int64_t i = 0; i < call.items; ++i)
    steps.gpu.run(Type{steps.view_of(call.inputs[0], i), steps.view_of(call.target, i), rest...});
}

}  // namespace

void gather(GpuSteps& steps, const StepCall& call) {
  run_items<gpu::Gather>(steps, call, size_of(call.result_extent));
}

void store(GpuSteps& steps, const StepCall& call) {
  run_items<gpu::Copy>(steps, call, box_of(call.region));
}

void add(GpuSteps& steps, const StepCall& call) {
  run_items<gpu::Add>(steps, call, call.activation(), box_of(call.region));
}

void accumulate(GpuSteps& steps, const StepCall& call) {
  add(steps, call);
}

void activate(GpuSteps& steps, const StepCall& call) {
  gather(steps, call);
  if (call.activation() == Activation::none) return;
  for (int64_t i = 0; i < call.items; ++i)
    steps.gpu.run(gpu::Activate{steps.view_of(call.target, i), call.activation(), box_of(call.inside())});
}

void upsample(GpuSteps& steps, const StepCall& call) {
  run_items<gpu::Upsample>(steps, call, call.op->factor.y, call.op->factor.x, size_of(call.result_extent));
}

void interpolate(GpuSteps& steps, const StepCall& call) {
  const Axes<int32_t>& factor = call.op->factor;
  run_items<gpu::Interpolate>(steps, call, factor.t, factor.y, factor.x, size_of(call.source_extent),
                              box_of(call.region));
}

void unfold_frames(GpuSteps& steps, const StepCall& call) {
  for (int64_t i = 0; i < call.items; ++i) {
    steps.gpu.run(gpu::UnfoldFrames{steps.view_of(call.inputs[0], i), steps.view_of(call.inputs[1], i),
                                    steps.view_of(call.target, i), box_of(call.region)});
  }
}

void space_to_depth(GpuSteps& steps, const StepCall& call) {
  const Op& op = *call.op;
  const auto layout = [&](bool first) {
    const FoldLayout fold = fold_layout(op, call.inputs[0].channels, call.target.channels, first);
    return gpu::FoldSteps{static_cast<int32_t>(fold.frames),       static_cast<int32_t>(fold.zeros),
                          static_cast<int32_t>(fold.channel_step), static_cast<int32_t>(fold.frame_step),
                          static_cast<int32_t>(fold.row_step),     static_cast<int32_t>(fold.column_step),
                          static_cast<int32_t>(fold.group)};
  };
  run_items<gpu::SpaceToDepth>(steps, call, op.stride.t, op.stride.y, op.stride.x, layout(true),
                               layout(false), box_of(call.region));
}

void gate(GpuSteps& steps, const StepCall& call) {
  run_items<gpu::Gate>(steps, call, box_of(call.region));
}

void depth_to_space(GpuSteps& steps, const StepCall& call) {
  const Op& op = *call.op;
  const auto layout = [&](int64_t number) {
    const DepthFrame frame = depth_frame(op, call.inputs[0].channels, call.target.channels, number);
    return gpu::DepthLayout{static_cast<int32_t>(frame.begin), static_cast<int32_t>(frame.pixel_step),
                            static_cast<int32_t>(frame.channel_step), static_cast<int32_t>(frame.repeats)};
  };
  run_items<gpu::DepthToSpace>(steps, call, op.factor.t, op.factor.y, op.factor.x, layout(0), layout(1),
                               layout(2).begin - layout(1).begin, box_of(call.region));
}

}  // namespace headroom::gpu_steps
