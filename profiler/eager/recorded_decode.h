#pragma once

#include <string>
#include <vector>

#include "decoder/plan/plan.h"
#include "profiler/eager/eager_decode.h"

// What LibTorch's allocator reported while the decode of diffusers' code ran, which EagerDecode only counts.
namespace headroom::profiler {

/// In which order LibTorch stores the values of pictures and kernels.
enum class EagerLayout { nchw, channels_last };
/// "nchw", "channels-last"; in files and options.
const char* name_of(EagerLayout layout);
/// Throws InputError naming `option` unless `text` is one of them.
EagerLayout parse_layout(const std::string& text, const std::string& option);

/// One operation of the graph, where it took most: of several tiles or chunks of frames, in that one.
struct RecordedLayer {
  std::string name;
  std::string kind;
  int64_t activation_bytes = 0;  ///< its result, where it has memory of its own
  int64_t workspace_bytes = 0;   ///< taken and handed back within it, beside its result
  int64_t slack_bytes = 0;       ///< that the allocator held then and nobody had asked for
  int64_t live_bytes = 0;        ///< all that was handed out then, weights included
  double seconds = 0;            ///< in all tiles and chunks together
  friend bool operator==(const RecordedLayer&, const RecordedLayer&) = default;
};

/// One size in one layout, whole or in tiles.
struct RecordedEagerDecode {
  int64_t width_pixels = 0, height_pixels = 0, frames = 1, batch = 1;
  EagerLayout layout = EagerLayout::nchw;
  int64_t tile = 0;        ///< latent positions along each side of a tile; 0: whole
  int64_t tile_count = 1;  ///< that were decoded
  int64_t peak_bytes = 0;  ///< the most that was handed out, weights included
  int64_t peak_slack_bytes = 0;
  std::string peak_layer;
  std::vector<EagerTensor> peak_live;  ///< what was held then, largest first; adds up to the peak
  int64_t counted_peak_bytes = 0;      ///< EagerDecode::peak_bytes; 0 where it is not counted
  double seconds = 0;                  ///< of the quickest decode
  std::vector<RecordedLayer> layers;
  friend bool operator==(const RecordedEagerDecode&, const RecordedEagerDecode&) = default;
};

/// A model's decodes on one machine.
struct EagerRecording {
  std::string model, class_name;
  Dtype dtype = Dtype::fp32;
  DeviceKind device_kind = DeviceKind::cpu;
  std::string device, libraries;
  int threads = 0;
  int64_t weights_bytes = 0;
  std::vector<RecordedEagerDecode> decodes;  ///< at least one
  friend bool operator==(const EagerRecording&, const EagerRecording&) = default;
};

}  // namespace headroom::profiler
