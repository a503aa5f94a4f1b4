#pragma once

#include <cstdint>
#include <string>

namespace headroom::reports {

/// Unit of a number in a table or on an axis.
enum class Unit { none, bytes, seconds, flops, pixels, ratio, share, bytes_per_second };

/// Formats a number for people: "1.2 GiB", "0.82 s", "12.3 GFLOP", "4.2 MP", "0.38×", "12 %", "24.1 GiB/s",
/// or the plain number. Empty if it is not finite. Pages, plots and windows all use this function.
std::string format(Unit unit, double value);

/// All digits needed to read the same number back, in any locale. Empty if the number is not finite.
std::string exact_text(double value);

/// Formats a number with a printf format.
std::string printed(const char* form, double value);

/// "1 file", "3 files".
std::string counted(int64_t count, const std::string& one, const std::string& several);

/// False for 0 and for sizes that no machine has (plans use 2^63 - 1). These mean no limit.
bool is_limit(int64_t bytes);

/// Heading of a CSV column: "peak_bytes" from "peak" and bytes. Adds nothing if there is no unit, or if the
/// title ends in it.
std::string csv_name(const std::string& title, Unit unit);

}  // namespace headroom::reports
