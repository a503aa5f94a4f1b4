#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "decoder/base/json_fields.h"
#include "decoder/plan/stats.h"

namespace headroom {

/// The newest version of "headroom.stats" that this build writes and reads.
constexpr int64_t kStatsVersion = 1;

/// Statistics as the document that docs/formats.md describes.
nlohmann::json to_json(const RunStats& stats);

/// Throws InputError naming the file and the key.
RunStats stats_from_json(const JsonFields& file);

/// Reads at most 64 MiB. Throws InputError naming the file and the key.
RunStats read_stats(const std::filesystem::path& file);

/// Writes the file whole or not at all. Throws DeviceError.
void write_stats(const std::filesystem::path& file, const RunStats& stats);

}  // namespace headroom
