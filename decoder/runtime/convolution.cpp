#include "decoder/runtime/convolution.h"

namespace headroom {

void convolve(const MapView& input, const PackedKernel& kernel, const float* bias, const MapView& target,
              const Region& region, int64_t items, Onto onto) {
  if (kernel.form == ConvolutionForm::winograd) {
    convolve_by_winograd(input, kernel, bias, target, region, items, onto);
  } else {
    convolve_directly(input, kernel, bias, target, region, items, onto);
  }
}

}  // namespace headroom
