#pragma once

#include <map>

#include "profiler/profile/profile.h"

// By how much seconds may be off that latency tables tell. Errors of one table are the same for all its
// calls; those of several tables are independent; what the machine does otherwise later than now is common to
// all.
namespace headroom::profiler {

/// Standard error of a table's seconds, relative: of what was measured, and between its grid points.
double table_error(const LatencyTable& latency_table);
/// What is common to all tables of a profile.
double common_error(const Profile& profile);

/// By how much a sum of calls' seconds may be off.
class ErrorSum {
 public:
  void add(const LatencyTable& latency_table, double seconds);
  /// Seconds that no table tells, such as those of copies. They have the common error alone.
  void add(double seconds) { seconds_ += seconds; }
  double seconds() const { return seconds_; }
  /// Nine times of ten the sum is off by no more than this share of it.
  double within(double common) const;

 private:
  double seconds_ = 0;
  std::map<const LatencyTable*, double> of_table_;
};

/// Whether plans should be made by a profile.
struct ProfileVerdict {
  double within = 0;     ///< share of its seconds by which the largest untiled decode may be off, as ErrorSum
  bool refused = false;  ///< `within` is more than kMostWithin
};
constexpr double kMostWithin = 0.40;
ProfileVerdict verdict_on(const Profile& profile);

}  // namespace headroom::profiler
