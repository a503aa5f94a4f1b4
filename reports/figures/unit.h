#pragma once

#include <cstdint>
#include <string>

namespace headroom::reports {

/// Unit of a number in a table or on an axis.
enum class Unit { none, bytes, seconds, flops, pixels, ratio, share, bytes_per_second };

/// For people: "1.2 GiB", "0.82 s", "12.3 GFLOP", "4.2 Mpixel", "0.38×", "12 %", "24.1 GiB/s", or the number
/// itself; empty where it is not finite. The one place where figures become text, for pages, plots and
/// windows alike.
std::string format(Unit unit, double value);

/// All digits that it takes to read the same number again, whatever the locale; empty where it is not finite.
std::string exact_text(double value);

/// A number by a form of printf's.
std::string printed(const char* form, double value);

/// "1 file", "3 files".
std::string counted(int64_t count, const std::string& one, const std::string& several);

/// 0 and what no machine has (2^63 - 1 in plans) stand for no limit.
bool is_limit(int64_t bytes);

/// The heading of a CSV column: "peak_bytes" from "peak" and bytes; nothing is added where there is no unit,
/// or where the title ends in it.
std::string csv_name(const std::string& title, Unit unit);

}  // namespace headroom::reports
