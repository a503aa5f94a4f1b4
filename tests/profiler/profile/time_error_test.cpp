#include "profiler/profile/time_error.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/support/random.h"

namespace headroom::profiler {
namespace {

LatencyTable table_with(const std::string& name, double relative_error, double held_out_error = 0) {
  LatencyTable table{name, {1}, {1}, {1.0}, {0}, 1, held_out_error};
  table.relative_error = relative_error;
  return table;
}

double normal(test::Random& random) {
  double sum = -6;
  for (int k = 0; k < 12; ++k) sum += random.uniform(0, 1);
  return sum;
}

TEST_CASE("a sum of calls is within its range nine times of ten") {
  test::Random random(1);
  int within = 0;
  constexpr int kRounds = 3000;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<LatencyTable> tables;
    for (int i = 0; i < 6; ++i) {
      const double first = random.uniform(0, 0.2), second = random.uniform(0, 0.2);
      tables.push_back(table_with("t" + std::to_string(i), first, second));
    }
    const double common = random.uniform(0, 0.1);
    ErrorSum sum;
    double taken = 0;
    for (const LatencyTable& table : tables) {
      const double off = 1 + table_error(table) * normal(random);
      for (int call = 0; call < 3; ++call) {
        const double seconds = random.uniform(0, 1);
        sum.add(table, seconds);
        taken += seconds * off;
      }
    }
    taken += common * sum.seconds() * normal(random);
    within += std::abs(taken / sum.seconds() - 1) <= sum.within(common);
  }
  CHECK(double(within) / kRounds == Approx(0.9).margin(0.02));
}

TEST_CASE("errors of several tables cancel out, those of one do not") {
  const LatencyTable a = table_with("a", 0.2), b = table_with("b", 0.2);
  ErrorSum one, two;
  one.add(a, 1), one.add(a, 1);
  two.add(a, 1), two.add(b, 1);
  CHECK(two.within(0) == Approx(one.within(0) / std::sqrt(2)));
  ErrorSum none;
  CHECK(none.within(0.1) == 0);
  none.add(1.0);
  CHECK(none.within(0) == 0);
  CHECK(none.within(0.1) > 0.1);
}

Profile profile_with(double relative_error, double waited_share) {
  Profile profile;
  profile.sizes = {{8, 8, 1, 1, 1, 1, "", {}}, {16, 16, 1, 1, 1, 4, "", {}}};
  profile.latency_tables = {table_with("conv", relative_error), table_with("norm", 0.01),
                            table_with("gather", relative_error)};
  profile.layers = {{"decoder.conv_in", "conv", {{1, 1, 0, 0.1, 1}, {1, 1, 0, 3, 1}}, "conv"},
                    {"decoder.norm", "norm", {{1, 1, 0, 0.9, 1}, {1, 1, 0, 1, 1}}, "norm"}};
  profile.precision = {0.05, 100, 0, waited_share, 1};
  return profile;
}

TEST_CASE("a profile is refused by what its largest decode may be off by") {
  const ProfileVerdict good = verdict_on(profile_with(0.03, 0.01));
  CHECK_FALSE(good.refused);
  CHECK(good.within > 0.10);
  CHECK(good.within < 0.13);

  const ProfileVerdict noisy = verdict_on(profile_with(0.5, 0.01));
  CHECK(noisy.refused);
  CHECK(noisy.within == Approx(1.645 * 0.5 * 0.75).epsilon(0.02));

  CHECK(verdict_on(profile_with(0.03, 0.3)).refused);
}

}  // namespace
}  // namespace headroom::profiler
