#pragma once

#include <filesystem>

#include "decoder/graph/json_fields.h"
#include "profiler/eager/recorded_decode.h"

namespace headroom::profiler {

constexpr int64_t kEagerRecordingVersion = 1;

/// Reads "headroom.recording" as docs/formats.md describes it. Throws InputError naming the file and the key.
EagerRecording eager_recording_from_json(const JsonFields& file);
EagerRecording read_eager_recording(const std::filesystem::path& file);

}  // namespace headroom::profiler
