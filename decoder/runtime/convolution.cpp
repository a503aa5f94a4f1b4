#include "decoder/runtime/convolution.h"

namespace headroom {

void convolve(const MapView& input, const PackedKernel& kernel, const float* bias, const MapView& target,
              const Region& region, int64_t items) {
  if (kernel.shape.depthwise()) {
    convolve_channels(input, kernel, bias, target, region, items);
  } else if (kernel.shape.groups > 1) {
    convolve_groups(input, kernel, bias, target, region, items);
  } else if (kernel.form == ConvolutionForm::winograd) {
    convolve_by_winograd(input, kernel, bias, target, region, items);
  } else {
    convolve_directly(input, kernel, bias, target, region, items);
  }
}

}  // namespace headroom
