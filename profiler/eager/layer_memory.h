#pragma once

#include "decoder/families/family.h"
#include "decoder/plan/plan.h"

namespace headroom::profiler {

/// Stage of an operation in code that decodes a clip one latent frame at a time.
enum class EagerStage {
  before_frames,  ///< once, for all frames of the latent together
  frame,          ///< once for each frame of the latent
  after_frames,   ///< once, for the whole decoded clip
};
EagerStage stage_of(const Op& op, EagerNetwork of);
/// Output of a frame's last operation. It is the picture, unless `after_frames` operations follow.
TensorId made_of_frame(const Graph& graph, EagerNetwork of);

/// Decode settings that determine an operation's memory.
struct EagerSetting {
  EagerNetwork of{};
  DeviceKind device = DeviceKind::cpu;
  int64_t element_bytes = 4;
  int64_t items = 1;
};

/// One run of an operation: its frames, its extents and the state of its input.
struct EagerPlace {
  int64_t frames_in = 1, frames_out = 1;  ///< number of frames in this chunk
  int64_t chunk = 0;
  Extent in, out;              ///< only rows and columns count; `t` covers all chunks
  bool channels_last = false;  ///< the layout of its input
  bool input_goes = false;     ///< no variable holds the input after this operation
};

struct LayerBytes {
  int64_t output = 0;     ///< bytes of its result
  int64_t workspace = 0;  ///< bytes beside inputs and result
  int64_t cached = 0;     ///< bytes kept for the next chunk; replaces those kept before
};

/// Memory that an operation allocates.
LayerBytes layer_bytes(const Graph& graph, const Op& op, const EagerSetting& setting,
                       const EagerPlace& place);

/// Input frames that a convolution over time keeps after this chunk for the next one. 0 for other operations.
int64_t cached_frames(const Op& op, const EagerSetting& setting, int64_t chunk);

}  // namespace headroom::profiler
