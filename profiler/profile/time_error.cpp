#include "profiler/profile/time_error.h"

#include <algorithm>
#include <cmath>

namespace headroom::profiler {
namespace {

constexpr double kNineOfTen = 1.645;  // two-sided 90 % bound of a normal distribution, in standard errors
// Residual error of decodes on a quiet machine, with calibrated tables (docs/planning.md).
constexpr double kUsualError = 0.06;

}  // namespace

double table_error(const LatencyTable& latency_table) {
  // std::hypot of two numbers would need glibc 2.35.
  return std::hypot(latency_table.relative_error, latency_table.held_out_error, 0.0);
}

double common_error(const Profile& profile) {
  return std::hypot(kUsualError, profile.precision.waited_share, 0.0);
}

void ErrorSum::add(const LatencyTable& latency_table, double seconds) {
  of_table_[&latency_table] += seconds;
  seconds_ += seconds;
}

double ErrorSum::within(double common) const {
  if (seconds_ <= 0) return 0;
  double square = common * common;
  for (const auto& [latency_table, seconds] : of_table_)
    square += std::pow(table_error(*latency_table) * seconds / seconds_, 2);
  return kNineOfTen * std::sqrt(square);
}

ProfileVerdict verdict_on(const Profile& profile) {
  ProfileVerdict verdict;
  if (profile.sizes.empty()) return verdict;
  size_t largest = 0;
  for (size_t s = 1; s < profile.sizes.size(); ++s) {
    if (profile.sizes[s].seconds > profile.sizes[largest].seconds) largest = s;
  }
  ErrorSum sum;
  for (const LayerProfile& layer : profile.layers) {
    const LatencyTable* latency_table = profile.find_latency_table(layer.latency_table);
    if (latency_table != nullptr) sum.add(*latency_table, layer.sizes[largest].seconds);
  }
  verdict.within = sum.within(common_error(profile));
  verdict.refused = verdict.within > kMostWithin;
  return verdict;
}

}  // namespace headroom::profiler
