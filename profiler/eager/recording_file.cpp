#include "profiler/eager/recording_file.h"

#include <nlohmann/json.hpp>

namespace headroom::profiler {
namespace {

constexpr int64_t kMostFileBytes = int64_t{64} << 20;
constexpr int64_t kMostExtent = 1 << 20;
constexpr size_t kMostDecodes = 1000;
constexpr size_t kMostOfDecode = 100'000;  ///< upper bound for layers, and for live tensors

int64_t byte_count(const JsonFields& field) {
  return field.integer(0, int64_t{1} << 60);
}

void read_timeline(const JsonFields& timeline, RecordedEagerDecode& decode) {
  const JsonFields seconds = timeline["seconds"], bytes = timeline["live_bytes"];
  if (seconds.size(kMostOfDecode) != bytes.size(kMostOfDecode))
    bytes.fail("expected as many values as in seconds");
  for (size_t i = 0; i < seconds.size(kMostOfDecode); ++i) {
    decode.moment_seconds.push_back(seconds[i].amount());
    decode.moment_bytes.push_back(byte_count(bytes[i]));
    if (i > 0 && decode.moment_seconds[i] < decode.moment_seconds[i - 1])
      seconds[i].fail("expected no moment before the one above it");
  }
}

RecordedEagerDecode decode_from_json(const JsonFields& entry) {
  RecordedEagerDecode decode;
  decode.width_pixels = entry["width_pixels"].integer(1, kMostExtent);
  decode.height_pixels = entry["height_pixels"].integer(1, kMostExtent);
  decode.frames = entry["frames"].integer(1, kMostExtent);
  decode.batch = entry["batch"].integer(1, kMostExtent);
  decode.peak_bytes = byte_count(entry["peak_bytes"]);
  decode.peak_layer = entry["peak_layer"].text();
  if (entry.has("counted_peak_bytes")) decode.counted_peak_bytes = byte_count(entry["counted_peak_bytes"]);
  if (entry.has("smallest_limit_bytes"))
    decode.smallest_limit_bytes = byte_count(entry["smallest_limit_bytes"]);
  decode.seconds = entry["seconds"].amount();
  const JsonFields live = entry["peak_live"];
  for (size_t i = 0; i < live.size(kMostOfDecode); ++i)
    decode.peak_live.push_back({live[i]["name"].text(), byte_count(live[i]["bytes"])});
  const JsonFields layers = entry["layers"];
  for (size_t i = 0; i < layers.size(kMostOfDecode); ++i) {
    const JsonFields layer = layers[i];
    decode.layers.push_back({layer["name"].text(), layer["kind"].text(),
                             byte_count(layer["activation_bytes"]), byte_count(layer["workspace_bytes"]),
                             byte_count(layer["live_bytes"]), layer["seconds"].amount()});
  }
  read_timeline(entry["timeline"], decode);
  return decode;
}

}  // namespace

EagerRecording eager_recording_from_json(const JsonFields& file) {
  check_schema(file, "headroom.recording", kEagerRecordingVersion);
  EagerRecording recording;
  recording.model = file["model"].text();
  recording.class_name = file["class_name"].text();
  try {
    recording.dtype = parse_dtype(file["dtype"].text());
  } catch (const InputError&) {
    file["dtype"].fail("expected fp32, bf16 or fp16");
  }
  const std::string kind = file["device_kind"].text();
  if (kind != "cpu" && kind != "cuda") file["device_kind"].fail("expected cpu or cuda");
  recording.device_kind = parse_device(kind);
  recording.device = file["device"].text();
  recording.libraries = file["libraries"].text();
  recording.threads = static_cast<int>(file["threads"].integer(1, 1 << 20));
  recording.weights_bytes = byte_count(file["weights_bytes"]);
  const JsonFields decodes = file["decodes"];
  for (size_t i = 0; i < decodes.size(kMostDecodes); ++i)
    recording.decodes.push_back(decode_from_json(decodes[i]));
  if (recording.decodes.empty()) decodes.fail("expected at least one decode");
  return recording;
}

EagerRecording read_eager_recording(const std::filesystem::path& file) {
  const nlohmann::json document = read_json_file(file, kMostFileBytes);
  return eager_recording_from_json(JsonFields(document, file.string()));
}

}  // namespace headroom::profiler
