#pragma once

#include <filesystem>
#include <string>

#include "profiler/events/device_events.h"

namespace headroom::profiler {

constexpr int64_t kEventsVersion = 2;

/// "headroom.events" as docs/formats.md describes it: a line for each event. Throws DeviceError.
void write_events(const std::filesystem::path& file, const DeviceRecording& recording);

/// Reads at most 512 MiB and 5 million events. Throws InputError naming the file, the line and the field.
DeviceRecording read_events(const std::filesystem::path& file);
/// The same of a text; `origin` names it in errors.
DeviceRecording events_from_text(const std::string& text, const std::string& origin);

}  // namespace headroom::profiler
