#include "profiler/program/profile_precision.h"

#include <catch2/catch.hpp>
#include <sstream>

#include "decoder/base/errors.h"
#include "profiler/profile/time_error.h"

namespace headroom::profiler {
namespace {

/// A profile of one layer with this share of waiting time.
Profile profile_with(double waited_share) {
  Profile profile;
  profile.sizes = {{8, 8, 1, 1, 1, 1, "", {}}};
  profile.latency_tables = {{"conv", {1}, {1}, {1.0}, {0}, 1, 0.02}};
  profile.latency_tables[0].relative_error = waited_share;
  profile.layers = {{"decoder.conv_in", "conv", {{1, 1, 0, 1, 1}}, "conv"}};
  profile.precision = {0.05, 100, waited_share > 0.05 ? 100 : 3, waited_share, 1};
  return profile;
}

TEST_CASE("a profile of a busy machine is refused with one line that says what may be done") {
  CHECK_NOTHROW(require_precise(profile_with(0.02)));
  try {
    require_precise(profile_with(0.5));
    FAIL("accepted");
  } catch (const DeviceError& error) {
    const std::string text = error.what();
    CHECK_THAT(text, Catch::Contains("too noisy to plan by") && Catch::Contains("allowed are 40 %") &&
                         Catch::Contains("for 50 % of the time") && Catch::Contains("--accept-noise"));
    CHECK(text.find('\n') == std::string::npos);
  }
}

TEST_CASE("a profile says by how much its times may be off, and how many points are precise") {
  std::ostringstream good, noisy;
  print_precision(profile_with(0.0), good);
  CHECK_THAT(good.str(), Catch::Contains("within ±10 % nine times of ten; 97 of 100 points within ±5 %"));
  print_precision(profile_with(0.5), noisy);
  CHECK_THAT(noisy.str(), Catch::Contains("0 of 100 points"));
}

}  // namespace
}  // namespace headroom::profiler
