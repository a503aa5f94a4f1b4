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

void convolve(LimitedPool& pool, const MapView& input, const PackedKernel& kernel, const MapView& target,
              const Region& region, int64_t items, const ToldShare& told) {
  if (kernel.shape.depthwise()) {
    convolve_channels(input, kernel, target, region, items);
  } else if (kernel.shape.groups > 1) {
    convolve_groups(input, kernel, target, region, items);
  } else if (kernel.algorithm == ConvolutionAlgorithm::winograd) {
    convolve_by_winograd(pool, input, kernel, target, region, items, told);
  } else {
    convolve_directly(input, kernel, target, region, items, told);
  }
}

}  // namespace headroom
