#include "decoder/runtime/convolution.h"

#include <ATen/ops/mkldnn_convolution.h>

namespace headroom {

Tile convolve(const Tile& input, const at::Tensor& weight, const at::Tensor& bias, const Region& output) {
  const at::Tensor channels_last = input.values.permute({0, 3, 1, 2});
  // oneDNN by name: the general entry point may choose an im2col that takes many times the tile as workspace.
  const at::Tensor result = at::mkldnn_convolution(channels_last, weight, bias, /*padding=*/{0, 0},
                                                   /*stride=*/{1, 1}, /*dilation=*/{1, 1}, 1);
  return {output, result.permute({0, 2, 3, 1}).contiguous()};
}

}  // namespace headroom
