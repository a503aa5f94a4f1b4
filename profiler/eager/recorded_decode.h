#pragma once

#include <string>
#include <vector>

#include "decoder/plan/plan.h"
#include "profiler/eager/eager_decode.h"

// Memory that PyTorch's allocator reported while a VAE's own decode ran. EagerDecode predicts the same from
// the graph. The Python package writes the recording: headroom.record().
namespace headroom::profiler {

/// One module of the VAE, in the call that took most.
struct RecordedLayer {
  std::string name;
  std::string kind;              ///< its class
  int64_t activation_bytes = 0;  ///< still there when the call returned
  int64_t workspace_bytes = 0;   ///< taken and given back within the call
  int64_t live_bytes = 0;        ///< all that was allocated at its highest moment, weights included
  double seconds = 0;            ///< of all calls together
  friend bool operator==(const RecordedLayer&, const RecordedLayer&) = default;
};

/// The decode of one size.
struct RecordedEagerDecode {
  int64_t width_pixels = 0, height_pixels = 0, frames = 1, batch = 1;
  int64_t peak_bytes = 0;  ///< the most that was allocated, weights included
  std::string peak_layer;
  std::vector<EagerTensor> peak_live;  ///< what was held then, largest first; adds up to the peak
  int64_t counted_peak_bytes = 0;      ///< EagerDecode::peak_bytes; 0 where it is not counted
  int64_t smallest_limit_bytes =
      0;  ///< that Headroom needs for this decode; 0 where it does not know the class
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

}  // namespace headroom::profiler
