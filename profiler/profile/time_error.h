#pragma once

#include <map>
#include <string>
#include <vector>

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

/// A table whose seconds are not as precise as was asked, with a layer that follows it.
struct NoisyTable {
  std::string latency_table;
  std::string layer;  ///< empty for those that move pixels
  double relative_error = 0;
};

/// Whether plans should be made by a profile.
struct ProfileVerdict {
  double within = 0;  ///< share of its seconds by which the largest untiled decode may be off, as ErrorSum
  std::vector<NoisyTable> noisy;  ///< the worst first
  bool refused = false;           ///< `within` is more than kMostWithin
};
constexpr double kMostWithin = 0.40;
ProfileVerdict verdict_on(const Profile& profile);
/// "conv 3x3 512->512 (up0.res0.conv1 …) ±31 %, …": the worst.
std::string noisy_text(const ProfileVerdict& verdict);

}  // namespace headroom::profiler
