#pragma once

#include <filesystem>

#include "decoder/base/json_fields.h"
#include "profiler/eager/recorded_decode.h"

namespace headroom::profiler {

constexpr int64_t kEagerRecordingVersion = 1;

/// Reads a "headroom.recording" file (docs/formats.md). Throws InputError that names the file and the key.
EagerRecording eager_recording_from_json(const JsonFields& file);
EagerRecording read_eager_recording(const std::filesystem::path& file);

}  // namespace headroom::profiler
