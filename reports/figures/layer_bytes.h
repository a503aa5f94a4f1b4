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
  int32_t frame_scale = 1;     ///< frames per latent frame after the first
  int32_t border = 0;          ///< padding in rows and columns at each side
  int32_t earlier_frames = 0;  ///< cached frames before the tensor's own; a decode may omit them
  friend auto operator<=>(const LayerSize&, const LayerSize&) = default;
};

/// All kinds of tensors that PyTorch makes in a decoder, each once. Beside the tensors of the layer graph
/// there are upsampled inputs of convolutions, and padded inputs of convolutions over time.
std::vector<LayerSize> layer_sizes(const Graph& graph);

/// Splits a clip into single frames of the latent, or leaves it whole.
struct ClipCut {
  int64_t latent_frames = 1;
  bool frame_by_frame = false;
};
/// Possible sizes in bytes of one kind of tensor. One number, or two if latent frames are decoded one by one,
/// because the first one has fewer output frames.
std::vector<int64_t> bytes_of(const LayerSize& size, const ClipCut& cut, int64_t rows, int64_t columns,
                              int64_t element_bytes);

/// Distinct element counts of a decoder's parameters.
std::vector<int64_t> parameter_sizes(const Graph& graph);

}  // namespace headroom::reports
