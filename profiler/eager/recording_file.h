#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "decoder/base/json_fields.h"
#include "decoder/plan/plan.h"
#include "profiler/eager/eager_decode.h"

// Memory that PyTorch's allocator reported while a VAE's own code decoded. EagerDecode predicts the same
// figures from the graph. The Python package writes the recording: headroom_vae.record().

namespace headroom::profiler {

/// One module of the VAE, in its call with the most live bytes.
struct RecordedLayer {
  std::string name;
  std::string kind;              ///< its class
  int64_t activation_bytes = 0;  ///< bytes still allocated when the call returned
  int64_t workspace_bytes = 0;   ///< bytes allocated and freed within the call
  int64_t live_bytes = 0;        ///< peak of allocated bytes, weights included
  double seconds = 0;            ///< total of all calls
  friend bool operator==(const RecordedLayer&, const RecordedLayer&) = default;
};

/// One recorded decode.
struct RecordedEagerDecode {
  int64_t width_pixels = 0, height_pixels = 0, frames = 1, batch = 1;
  int64_t peak_bytes = 0;  ///< peak of allocated bytes, weights included
  std::string peak_layer;
  std::vector<EagerTensor> peak_live;  ///< live tensors at the peak, largest first; they add up to it
  int64_t counted_peak_bytes = 0;      ///< EagerDecode::peak_bytes; 0 if not predicted
  /// Smallest limit of Headroom for this decode; 0 if the class is unknown.
  int64_t smallest_limit_bytes = 0;
  double seconds = 0;
  std::vector<RecordedLayer> layers;
  std::vector<double> moment_seconds;  ///< ascending
  std::vector<int64_t> moment_bytes;   ///< live bytes at each moment
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

constexpr int64_t kEagerRecordingVersion = 1;

/// Reads a "headroom.recording" file (docs/formats.md). Throws InputError that names the file and the key.
EagerRecording eager_recording_from_json(const JsonFields& file);
EagerRecording read_eager_recording(const std::filesystem::path& file);

}  // namespace headroom::profiler
