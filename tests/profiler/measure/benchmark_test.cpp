#include "profiler/measure/benchmark.h"

#include <catch2/catch.hpp>
#include <functional>

#include "tests/support/random.h"

namespace headroom::profiler {
namespace {

using test::Random;

constexpr double kTarget = 0.05;

/// Times calls until they are enough, each by the law of its number.
CallTimes timed(const std::function<double(size_t)>& call) {
  CallTimes times(kTarget);
  while (!times.enough()) times.add(call(times.calls()));
  return times;
}

TEST_CASE("calls that all take the same are few, and as many as the clock needs where they are short") {
  CHECK(timed([](size_t) { return 1e-3; }).calls() == 3);
  const CallTimes fast = timed([](size_t) { return 10e-6; });
  CHECK(double(fast.calls()) == Approx(100).margin(1));
  CHECK(fast.estimate().seconds == Approx(10e-6));
  CHECK(timed([](size_t) { return 0.2; }).calls() == 2);
  CHECK(timed([](size_t) { return 1e-9; }).calls() == 400);
}

TEST_CASE("the noisier calls are the more are made, until their share of time is used") {
  Random random(1);
  const CallTimes noisy = timed([&](size_t) { return 0.5e-3 * random.uniform(0.6, 1.4); });
  CHECK(noisy.calls() > 3);
  CHECK(noisy.estimate().seconds == Approx(0.5e-3).epsilon(0.2));
  const CallTimes hopeless = timed([&](size_t call) { return call % 2 == 0 ? 0.2e-3 : 2e-3; });
  CHECK(hopeless.calls() >= 5);
  CHECK(hopeless.calls() < 18);
}

TEST_CASE("a single slip moves neither the median nor its error") {
  const Estimate estimate = estimate_of({1.0, 1.01, 0.99, 40.0, 1.0});
  CHECK(estimate.seconds == Approx(1).epsilon(0.011));
  CHECK(estimate.relative_error < 0.02);
}

TEST_CASE("the stated error is that of the median") {
  Random random(2);
  int within = 0;
  constexpr int kRounds = 2000;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> seconds;
    for (int i = 0; i < 25; ++i) {
      double normal = -6;
      for (int k = 0; k < 12; ++k) normal += random.uniform(0, 1);
      seconds.push_back(1 + 0.1 * normal);
    }
    const Estimate estimate = estimate_of(seconds);
    within += std::abs(estimate.seconds - 1) <= estimate.relative_error * estimate.seconds;
  }
  CHECK(double(within) / kRounds == Approx(0.68).margin(0.06));
}

}  // namespace
}  // namespace headroom::profiler
