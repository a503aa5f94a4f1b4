#pragma once

#include <map>

#include "profiler/profile/profile.h"

// Uncertainty of predicted times. All calls of one table share its error. Errors of different tables are
// independent. Changes of the machine's speed affect all tables alike.
namespace headroom::profiler {

/// Relative standard error of a table: measurement error and interpolation error combined.
double table_error(const LatencyTable& latency_table);
/// Relative standard error that all tables of a profile share.
double common_error(const Profile& profile);

/// Uncertainty of a sum of predicted times.
class ErrorSum {
 public:
  void add(const LatencyTable& latency_table, double seconds);
  /// Adds seconds that come from no table, such as those of copies. They have only the common error.
  void add(double seconds) { seconds_ += seconds; }
  double seconds() const { return seconds_; }
  /// Bound on the relative error of the sum, with 90 % confidence.
  double within(double common) const;

 private:
  double seconds_ = 0;
  std::map<const LatencyTable*, double> of_table_;
};

/// Decision on whether a profile is precise enough to plan with.
struct ProfileVerdict {
  double within = 0;     ///< ErrorSum::within() of the slowest profiled decode
  bool refused = false;  ///< `within` is more than kMostWithin
};
constexpr double kMostWithin = 0.40;
ProfileVerdict verdict_on(const Profile& profile);

}  // namespace headroom::profiler
