#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "profiler/measure/decode_calls.h"
#include "profiler/measure/measured_points.h"
#include "profiler/profile/profile.h"

namespace headroom::profiler {

/// A decode that was measured layer by layer.
struct MeasuredDecode {
  ProfiledSize size;
  std::vector<LayerMeasurement> layers;  ///< in the order of the graph's operations
  std::vector<DecodeCalls> calls;        ///< on the CPU
  int64_t outside_bytes = 0;
  double waited_share = 0;  ///< of its time that threads waited for processors
  friend bool operator==(const MeasuredDecode&, const MeasuredDecode&) = default;
};

/// What a profile that was interrupted has so far.
struct PartialProfile {
  std::string of;                       ///< what is measured, on what: another one's is of no use
  std::vector<MeasuredDecode> decodes;  ///< of the sizes, in order, then those held out, then a tiled one
  MeasuredPoints points;
  friend bool operator==(const PartialProfile&, const PartialProfile&) = default;
};

/// Writes it whole. Throws as write_file_whole().
void write_partial_profile(const std::filesystem::path& file, const PartialProfile& partial);
/// Empty where there is no such file, or one that is of something else than `of`. Throws InputError where the
/// file is none of these: nobody wants it overwritten.
std::optional<PartialProfile> read_partial_profile(const std::filesystem::path& file, const std::string& of);

}  // namespace headroom::profiler
