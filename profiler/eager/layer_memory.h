#pragma once

#include "decoder/graph/families/family.h"
#include "decoder/plan/plan.h"

namespace headroom::profiler {

/// When code that decodes clips one frame of the latent after another runs an operation.
enum class EagerStage {
  before_frames,  ///< once, of all frames of the latent; in tiles of each by itself
  frame,          ///< of each frame of the latent
  after_frames,   ///< once, of all that was decoded
};
EagerStage stage_of(const Op& op, EagerNetwork of);
/// Output of a frame's last operation. It is the picture, unless `after_frames` operations follow.
TensorId made_of_frame(const Graph& graph, EagerNetwork of);

/// How a class's code decodes a request.
struct EagerSetting {
  EagerNetwork of{};
  DeviceKind device = DeviceKind::cpu;
  int64_t element_bytes = 4;
  int64_t items = 1;
};

/// One run of an operation: its frames, its extents and the state of its input.
struct EagerPlace {
  int64_t frames_in = 1, frames_out = 1;  ///< of this chunk
  int64_t chunk = 0;
  Extent in, out;              ///< rows and columns; the time is that of all chunks
  bool channels_last = false;  ///< the layout of its input
  bool input_goes = false;     ///< nobody holds the input once it is read
};

struct LayerBytes {
  int64_t output = 0;     ///< of its result
  int64_t workspace = 0;  ///< beside inputs and result
  int64_t cached = 0;     ///< kept for the next chunk, in place of what the chunk before left
};

/// Memory that an operation allocates.
LayerBytes layer_bytes(const Graph& graph, const Op& op, const EagerSetting& setting,
                       const EagerPlace& place);

/// Frames that a convolution over the time leaves for the next chunk after this one; 0 for the others.
int64_t cached_frames(const Op& op, const EagerSetting& setting, int64_t chunk);

/// The queries, keys and values that one convolution makes: their first one stands for all.
bool is_later_part(const Op& op, const EagerSetting& setting);

}  // namespace headroom::profiler
