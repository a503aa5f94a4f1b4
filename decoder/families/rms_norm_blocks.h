#pragma once

#include <string>

#include "decoder/families/convolution_kind.h"
#include "decoder/graph/graph.h"

namespace headroom {

/// Adds blocks with RMS norms to a graph. Several video families use them. No norm is a barrier, so an
/// optional cut point follows each residual block.
class RmsNormBlocks {
 public:
  /// Number of axes of extent 1 after the channels of a norm's parameter.
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
