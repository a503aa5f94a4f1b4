#include "decoder/cpu/convolution.h"

#include <algorithm>

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

}  // namespace headroom
