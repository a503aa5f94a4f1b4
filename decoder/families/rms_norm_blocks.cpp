#include "decoder/families/rms_norm_blocks.h"

namespace headroom {
namespace {

/// Vectors shorter than this are not scaled to length 1 (torch.nn.functional.normalize).
constexpr double kLeastLength = 1e-12;

}  // namespace

TensorId RmsNormBlocks::conv(const std::string& name, TensorId x, int64_t channels, int32_t side) {
  return graph_.conv(name + convolutions_.module, x, channels,
                     {convolutions_.kernel_frames(side), side, side}, convolutions_.traits);
}

TensorId RmsNormBlocks::norm(const std::string& name, TensorId x, Activation activation, int32_t axes) {
  const double epsilon = kLeastLength * kLeastLength / double(graph_.tensor(x).channels);
  return graph_.rms_norm(name, x, epsilon, activation, axes);
}

TensorId RmsNormBlocks::resnet(const std::string& name, TensorId x, int64_t channels) {
  TensorId h = norm(name + ".norm1", x, Activation::silu);
  h = conv(name + ".conv1", h, channels, 3);
  h = norm(name + ".norm2", h, Activation::silu);
  h = conv(name + ".conv2", h, channels, 3);
  if (graph_.tensor(x).channels != channels) {
    const int32_t frames = convolutions_.kernel_frames(1);
    x = graph_.conv(name + ".conv_shortcut", x, channels, {frames, 1, 1}, convolutions_.traits);
  }
  return graph_.add_cut_point(graph_.add(name, h, x));
}

}  // namespace headroom
