#include "profiler/program/profile_precision.h"

#include <cmath>

#include "decoder/base/errors.h"
#include "profiler/profile/time_error.h"

namespace headroom::profiler {
namespace {

std::string percent(double share) {
  return std::to_string(std::lround(100 * share)) + " %";
}

}  // namespace

void require_precise(const Profile& profile) {
  const ProfileVerdict verdict = verdict_on(profile);
  if (!verdict.refused) return;
  std::string text = "too noisy to plan by: predicted times could be off by " + percent(verdict.within) +
                     ", allowed are " + percent(kMostWithin);
  if (profile.precision.waited_share > 0.01)
    text +=
        "; other programs had the processors for " + percent(profile.precision.waited_share) + " of the time";
  throw DeviceError(text + "; measure on a quieter machine, or give --accept-noise");
}

void print_precision(const Profile& profile, std::ostream& out) {
  const ProfileVerdict verdict = verdict_on(profile);
  const MeasuredPrecision& precision = profile.precision;
  out << "predicted times hold within ±" << percent(verdict.within) << " nine times of ten; "
      << precision.points - precision.noisy_points << " of " << precision.points << " points within ±"
      << percent(precision.target);
  out << "\n";
}

}  // namespace headroom::profiler
