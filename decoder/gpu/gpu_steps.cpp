#include "decoder/gpu/gpu_steps.h"

#include <algorithm>

#include "decoder/gpu/calls/plain_view.h"
#include "decoder/operations/convolution.h"
#include "decoder/operations/depth_to_space.h"

namespace headroom {

gpu::View GpuSteps::view_of(const MapView& map, int64_t item) const {
  const auto first = static_cast<size_t>(item * map.blocks_per_item);
  // A single block is its own base, because a view of some frames of a tile may be unaligned.
  const bool single = map.blocks_per_item == 1;
  gpu::View view =
      plain_view(single ? map.blocks[first] : memory.base(), map.region, map.channels, map.dtype);
  view.block_rows = static_cast<int32_t>(std::max<int64_t>(1, map.block_rows));
  view.blocks = static_cast<int32_t>(map.blocks_per_item);
  for (int64_t b = 0; b < map.blocks_per_item; ++b) {
    const auto i = static_cast<size_t>(b);
    const auto* block = static_cast<const std::byte*>(map.blocks[first + i]);
    view.block_units[i] =
        block == nullptr ? gpu::kAbsent : static_cast<uint32_t>((block - view.base) / gpu::kBlockUnit);
  }
  return view;
}

namespace {

gpu::ConvolutionShape shape_of(const KernelShape& kernel) {
  return {static_cast<int32_t>(kernel.inputs),
          static_cast<int32_t>(kernel.outputs),
          static_cast<int32_t>(kernel.groups),
          static_cast<int32_t>(kernel.frames),
          static_cast<int32_t>(kernel.rows),
          static_cast<int32_t>(kernel.columns),
          kernel.upsamples,
          kernel.before_first,
          static_cast<int32_t>(kernel.frames_ahead),
          kernel.stride,
          kernel.begins_at_own};
}

}  // namespace

void gpu_steps::conv(GpuSteps& steps, const StepCall& call) {
  const Op& op = *call.op;
  const KernelShape kernel = kernel_shape(steps.graph, op);
  const int64_t bytes = steps.granted_bytes(
      gpu::convolution_workspace_bytes(kernel, extent_of(call.region), steps.sizes.dtype));
  const std::shared_ptr<void> taken = steps.workspace(bytes);
  const GpuOpWeights& weights = steps.weights_of(op);
  gpu::Box part = box_of(call.inside());
  gpu::Box first_frame = part;
  first_frame.t.end = part.t.begin;
  if (op.convolution.keeps_first_frame && part.t.begin == 0 && part.t.end > 0)
    first_frame.t.end = part.t.begin = 1;
  const bool tf32 = may_use_tf32(op, steps.sizes.tf32);
  const bool adds = call.inputs.size() > 1;
  for (int64_t i = 0; i < call.items; ++i) {
    const gpu::View input = steps.view_of(call.inputs[0], i), target = steps.view_of(call.target, i);
    if (first_frame.t.end > first_frame.t.begin) steps.gpu.run(gpu::Copy{input, target, first_frame});
    if (part.t.begin == part.t.end) continue;
    steps.gpu.run(gpu::Convolve{input, adds ? steps.view_of(call.inputs[1], i) : gpu::View{}, target, part,
                                shape_of(kernel), weights.kernel, weights.bias, taken.get(), bytes, tf32});
    if (op.activation != Activation::none) steps.gpu.run(gpu::Activate{target, op.activation, part});
  }
}

}  // namespace headroom

namespace headroom::gpu_steps {
namespace {

/// The view with its frames numbered from this one.
gpu::View frames_from(int32_t first, gpu::View view) {
  view.region.t = {view.region.t.begin - first, view.region.t.end - first};
  return view;
}

}  // namespace

void statistics(GpuSteps& steps, const StepCall& call) {
  const Op& op = *call.op;
  for (int64_t item = 0; item < call.items; ++item) {
    const int32_t first = steps.first_frame(op.output);
    const gpu::View view = frames_from(first, steps.view_of(call.inputs[0], item));
    for (int64_t t = call.region.t.begin; t < call.region.t.end; ++t) {
      Region frame = call.region;
      frame.t = {t - first, t - first + 1};
      steps.gpu.run(gpu::AddMoments{view, box_of(frame), op.groups, op.by_frame, steps.partial<Moments>(),
                                    steps.counters(),
                                    reinterpret_cast<Moments*>(steps.statistics_of(op.output, item))});
    }
  }
}

void norm(GpuSteps& steps, const StepCall& call) {
  const Op& op = *call.op;
  const Op& measured = *steps.graph.producer(op.inputs[1]);
  const MapView& source = call.inputs[0];
  const int64_t sets = gpu::statistics_sets(steps.graph, measured, steps.sizes);
  const int32_t first = steps.first_frame(op.inputs[1]);
  gpu::Size picture = size_of(call.result_extent);
  if (measured.by_frame) picture.t = std::min(picture.t - first, static_cast<int32_t>(sets));
  for (int64_t i = 0; i < call.items; ++i) {
    const auto* scale = reinterpret_cast<const float*>(steps.state_at(steps.layout.affines.at(op.output), i));
    steps.gpu.run(gpu::Normalise{frames_from(first, steps.view_of(source, i)),
                                 frames_from(first, steps.view_of(call.target, i)), scale,
                                 scale + sets * source.channels, measured.by_frame, op.activation, picture});
  }
}

void rms_norm(GpuSteps& steps, const StepCall& call) {
  const Op& op = *call.op;
  const GpuOpWeights& weights = steps.weights_of(op);
  for (int64_t i = 0; i < call.items; ++i) {
    steps.gpu.run(gpu::RmsNorm{steps.view_of(call.inputs[0], i), steps.view_of(call.target, i), weights.scale,
                               weights.norm_bias, static_cast<float>(op.epsilon), op.activation,
                               box_of(call.inside()), op.centred});
  }
}

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

void modulate(GpuSteps& steps, const StepCall& call) {
  for (int64_t i = 0; i < call.items; ++i) {
    steps.gpu.run(gpu::Modulate{steps.view_of(call.inputs[0], i), steps.view_of(call.inputs[1], i),
                                steps.view_of(call.target, i), call.activation(), box_of(call.inside())});
  }
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
