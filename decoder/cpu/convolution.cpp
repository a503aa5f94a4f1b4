#include "decoder/cpu/convolution.h"

#include <algorithm>

#include "decoder/cpu/cpu_steps.h"
#include "decoder/cpu/map_steps.h"

namespace headroom {

std::optional<int64_t> frame_of_tap(const KernelShape& shape, int64_t t, int64_t tap, int64_t end) {
  const int64_t frame = std::min(t - shape.frames_before() + tap, end - 1);
  switch (shape.before_first) {
    case BeforeFirst::zeros:
      return frame < 0 ? std::nullopt : std::optional(frame);
    case BeforeFirst::first_frame:
      return std::max<int64_t>(0, frame);
    case BeforeFirst::zeros_for_it_too:
      return frame < 1 ? std::nullopt : std::optional(frame);
  }
  return std::nullopt;
}

void convolve(LimitedPool& pool, const ConvolutionCall& call) {
  if (call.kernel.shape.depthwise()) {
    convolve_channels(call);
  } else if (call.kernel.shape.groups > 1) {
    convolve_groups(call);
  } else if (call.kernel.algorithm == ConvolutionAlgorithm::winograd) {
    convolve_by_winograd(pool, call);
  } else {
    convolve_directly(call);
  }
}

void cpu_steps::conv(CpuSteps& steps, const StepCall& call) {
  const Region part = call.inside();
  convolve(steps.pool, {call.inputs[0], steps.weights_of(*call.op).kernel, call.target, part, call.items,
                        ToldShare(steps.on_share)});
  activate_region(call.target, call.activation(), part, call.items);
}

}  // namespace headroom
