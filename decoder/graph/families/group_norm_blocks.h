#pragma once

#include <string>

#include "decoder/graph/graph.h"

namespace headroom {

/// Blocks with GroupNorm that several families of pictures are made of, added to a graph. Shapes are
/// N×C×1×H×W.
class GroupNormBlocks {
 public:
  /// What a family calls an attention's norm and its last projection.
  struct AttentionNames {
    const char* norm = "group_norm";
    const char* output = "to_out.0";
  };

  GroupNormBlocks(Graph& graph, int32_t groups, Activation activation)
      : graph_(graph), groups_(groups), activation_(activation) {}

  /// GroupNorm over the whole picture, then the activation.
  TensorId normalised(const std::string& name, TensorId x, Activation activation);
  /// norm1, activation, conv1, norm2, activation, conv2, and x added; by conv_shortcut where it has other
  /// channels.
  TensorId resnet(const std::string& name, TensorId x, int64_t channels);
  /// One head over all positions, and x added.
  TensorId attention(const std::string& name, TensorId x, const AttentionNames& names);

 private:
  Graph& graph_;
  const int32_t groups_;
  const Activation activation_;
};

}  // namespace headroom
