#pragma once

#include <string>

#include "decoder/families/convolution_kind.h"
#include "decoder/graph/graph.h"

namespace headroom {

/// Blocks with GroupNorm that several families are made of, added to a graph.
class GroupNormBlocks {
 public:
  /// Attention of one family: module names of its norm and output projection, and the frames it mixes.
  struct AttentionKind {
    const char* norm = "group_norm";
    const char* output = "to_out.0";
    bool linear = true;  ///< as in ConvolutionTraits
    AttentionFrames frames = AttentionFrames::each;
  };

  /// `by_frame`: GroupNorm normalises each frame on its own.
  GroupNormBlocks(Graph& graph, int32_t groups, Activation activation, ConvolutionKind convolutions = {},
                  bool by_frame = false)
      : graph_(graph),
        groups_(groups),
        activation_(activation),
        convolutions_(std::move(convolutions)),
        by_frame_(by_frame) {}

  /// A convolution whose kernel has `side` rows and columns.
  TensorId conv(const std::string& name, TensorId x, int64_t channels, int32_t side);
  /// A 3×3 convolution over nearest upsampling by 2 along rows and columns.
  TensorId upsampled_conv(const std::string& name, TensorId x, int64_t channels);
  /// GroupNorm over rows and columns, and over all frames unless by frame. Then the activation.
  TensorId normalised(const std::string& name, TensorId x, Activation activation);
  /// norm1, activation, conv1, norm2, activation, conv2, then adds x. conv_shortcut projects x if its
  /// channels differ.
  TensorId resnet(const std::string& name, TensorId x, int64_t channels);
  /// One head, then adds x.
  TensorId attention(const std::string& name, TensorId x, const AttentionKind& kind);

 private:
  Graph& graph_;
  const int32_t groups_;
  const Activation activation_;
  const ConvolutionKind convolutions_;
  const bool by_frame_;
};

}  // namespace headroom
