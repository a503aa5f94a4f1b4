#pragma once

#include <string>

#include "decoder/families/convolution_kind.h"
#include "decoder/graph/graph.h"

namespace headroom {

/// Adds blocks with RMS norms to a graph. Several video families use them. The norms need no statistics of
/// the picture, so no barrier ends a pass. An optional cut point follows each residual block instead.
class RmsNormBlocks {
 public:
  /// Values of Op::gamma_axes. Modules that run over clips have a `gamma` of shape {C, 1, 1, 1}, modules that
  /// run frame by frame one of shape {C, 1, 1}. The arithmetic is the same.
  static constexpr int32_t kOverFrames = 3, kByFrame = 2;

  RmsNormBlocks(Graph& graph, ConvolutionKind convolutions)
      : graph_(graph), convolutions_(std::move(convolutions)) {}

  /// A module's convolution of `side` frames, rows and columns.
  TensorId conv(const std::string& name, TensorId x, int64_t channels, int32_t side);
  TensorId norm(const std::string& name, TensorId x, Activation activation, int32_t axes = kOverFrames);
  /// norm1, SiLU, conv1, norm2, SiLU, conv2, then adds x. conv_shortcut projects x if its channels differ.
  TensorId resnet(const std::string& name, TensorId x, int64_t channels);

 private:
  Graph& graph_;
  const ConvolutionKind convolutions_;
};

}  // namespace headroom
