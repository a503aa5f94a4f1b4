#include "decoder/gpu/calls/plain_view.h"
#include "decoder/gpu/gpu_steps.h"
#include "decoder/operations/tf32_use.h"

namespace headroom {
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
