#pragma once

#include <nlohmann/json.hpp>

#include "profiler/eager/recording_file.h"

// Recordings as files, which the Python package writes.
namespace headroom::profiler::test {

inline nlohmann::json layer_to_json(const RecordedLayer& layer) {
  return {{"name", layer.name},
          {"kind", layer.kind},
          {"activation_bytes", layer.activation_bytes},
          {"workspace_bytes", layer.workspace_bytes},
          {"live_bytes", layer.live_bytes},
          {"seconds", layer.seconds}};
}

inline nlohmann::json decode_to_json(const RecordedEagerDecode& decode) {
  nlohmann::json live = nlohmann::json::array(), layers = nlohmann::json::array();
  for (const EagerTensor& tensor : decode.peak_live)
    live.push_back({{"name", tensor.name}, {"bytes", tensor.bytes}});
  for (const RecordedLayer& layer : decode.layers) layers.push_back(layer_to_json(layer));
  nlohmann::json out{{"width_pixels", decode.width_pixels},
                     {"height_pixels", decode.height_pixels},
                     {"frames", decode.frames},
                     {"batch", decode.batch},
                     {"peak_bytes", decode.peak_bytes},
                     {"peak_layer", decode.peak_layer},
                     {"peak_live", std::move(live)},
                     {"seconds", decode.seconds},
                     {"layers", std::move(layers)},
                     {"timeline", {{"seconds", decode.moment_seconds}, {"live_bytes", decode.moment_bytes}}}};
  if (decode.counted_peak_bytes > 0) out["counted_peak_bytes"] = decode.counted_peak_bytes;
  if (decode.smallest_limit_bytes > 0) out["smallest_limit_bytes"] = decode.smallest_limit_bytes;
  return out;
}

inline nlohmann::json to_json(const EagerRecording& recording) {
  nlohmann::json decodes = nlohmann::json::array();
  for (const RecordedEagerDecode& decode : recording.decodes) decodes.push_back(decode_to_json(decode));
  return {{"schema", "headroom.recording"},    {"version", kEagerRecordingVersion},
          {"model", recording.model},          {"class_name", recording.class_name},
          {"dtype", name_of(recording.dtype)}, {"device_kind", name_of(recording.device_kind)},
          {"device", recording.device},        {"libraries", recording.libraries},
          {"threads", recording.threads},      {"weights_bytes", recording.weights_bytes},
          {"decodes", std::move(decodes)}};
}

}  // namespace headroom::profiler::test
