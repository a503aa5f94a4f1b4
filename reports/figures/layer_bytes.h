#pragma once

#include <cstdint>
#include <vector>

#include "decoder/graph/model.h"

namespace headroom::reports {

/// Shape of one kind of tensor that PyTorch allocates in a decoder, relative to the latent. Rows and columns
/// are the latent's times `side`.
struct LayerSize {
  int64_t channels = 0;
  int32_t side = 1;
  int32_t frame_scale = 1;     ///< frames for each later one of the latent's
  int32_t border = 0;          ///< rows and columns that are added at each side
  int32_t earlier_frames = 0;  ///< that are put before its own; a decode may do without
  friend auto operator<=>(const LayerSize&, const LayerSize&) = default;
};

/// All kinds of tensors that PyTorch makes in a decoder, each once. Beside the tensors of the layer graph
/// there are upsampled inputs of convolutions, and padded inputs of convolutions over time.
std::vector<LayerSize> layer_sizes(const Graph& graph);

/// How a decode cuts a clip: into frames of the latent one by one, or not at all.
struct ClipCut {
  int64_t latent_frames = 1;
  bool frame_by_frame = false;
};
/// Bytes of one kind of tensor, by how many frames it may have: one number, or two where frames come one by
/// one and the first one is decoded to fewer.
std::vector<int64_t> bytes_of(const LayerSize& size, const ClipCut& cut, int64_t rows, int64_t columns,
                              int64_t element_bytes);

/// Elements of each parameter of a decoder, each number once.
std::vector<int64_t> parameter_sizes(const Graph& graph);

}  // namespace headroom::reports
