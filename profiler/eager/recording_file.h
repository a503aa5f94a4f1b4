#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "decoder/graph/json_fields.h"
#include "profiler/eager/recorded_decode.h"

namespace headroom::profiler {

constexpr int64_t kEagerRecordingVersion = 1;

/// "headroom.recording" as docs/formats.md describes it.
nlohmann::json to_json(const EagerRecording& recording);
/// Throws InputError naming the file and the key.
EagerRecording eager_recording_from_json(const JsonFields& file);
EagerRecording read_eager_recording(const std::filesystem::path& file);

}  // namespace headroom::profiler
