#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace headroom {

constexpr int64_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB, kTiB = 1024 * kGiB, kPiB = 1024 * kTiB;

struct ByteUnit {
  const char* name;
  int64_t bytes;
};
/// Units of bytes in texts, largest first.
inline constexpr ByteUnit kByteUnits[] = {
    {"PiB", kPiB}, {"TiB", kTiB}, {"GiB", kGiB}, {"MiB", kMiB}, {"KiB", kKiB}};

/// Plain numbers below this most likely lack their unit.
constexpr int64_t kFewestSensibleBytes = 1024;

/// Bytes from "2GiB", "512MiB", "64KiB", "1.25 GB" in any case, or a plain number. Throws InputError naming
/// `option`, also for a plain number that lacks its unit: 2.
int64_t parse_bytes(const std::string& text, const std::string& option);
/// 0.05 from "5%"; 0 from "0" or "0%". Throws InputError naming `option`, also above 100 %.
double parse_share(const std::string& text, const std::string& option);
/// "1.2 GiB", "313.0 MiB": three significant figures or so, for people.
std::string format_bytes(int64_t bytes);
/// format_bytes() for a limit that the user will type. Rounds up, so that the printed limit suffices.
std::string format_limit(int64_t bytes);
/// "1.82 s", "12.3 ms", "4.5 µs", "3.5 hours", "535 days".
std::string format_seconds(double seconds);

/// Width and height from "1024x768". Throws InputError naming `option`.
std::pair<int64_t, int64_t> parse_size(const std::string& text, const std::string& option);
/// Comma-separated sizes.
std::vector<std::pair<int64_t, int64_t>> parse_sizes(const std::string& text, const std::string& option);

}  // namespace headroom
