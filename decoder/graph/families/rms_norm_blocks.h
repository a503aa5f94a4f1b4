#pragma once

#include <string>

#include "decoder/graph/families/convolution_kind.h"
#include "decoder/graph/graph.h"

namespace headroom {

/// Blocks that divide each position by its length, of which several families of clips are made, added to a
/// graph. Behind each residual block is an optional cut point: no norm is a barrier.
class RmsNormBlocks {
 public:
  /// Axes of extent 1 behind the channels of a norm's parameter.
  static constexpr int32_t kOverFrames = 3, kByFrame = 2;

  RmsNormBlocks(Graph& graph, ConvolutionKind convolutions)
      : graph_(graph), convolutions_(std::move(convolutions)) {}

  /// A module's convolution of `side` frames, rows and columns.
  TensorId conv(const std::string& name, TensorId x, int64_t channels, int32_t side);
  TensorId norm(const std::string& name, TensorId x, Activation activation, int32_t axes = kOverFrames);
  /// norm1, SiLU, conv1, norm2, SiLU, conv2, and x added; by conv_shortcut where it has other channels.
  TensorId resnet(const std::string& name, TensorId x, int64_t channels);

 private:
  Graph& graph_;
  const ConvolutionKind convolutions_;
};

}  // namespace headroom
