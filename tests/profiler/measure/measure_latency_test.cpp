// Latency tables of a device that is made up: its time, its noise, its drift, and what others take of it.
#include "profiler/measure/measure_latency.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "profiler/measure/clock_drift.h"
#include "profiler/measure/decode_calls.h"
#include "profiler/profile/time_error.h"
#include "tests/decoder/files/scratch.h"
#include "tests/support/random.h"
#include "tests/support/tiny_model.h"

namespace headroom::profiler {
namespace {

using test::Random;

/// How a made-up machine behaves, by its own clock.
struct Behaviour {
  double noise = 0;                                                  ///< uniform, relative, of every call
  std::function<double(double)> drift = [](double) { return 1.0; };  ///< factor at a time
  double waits = 0;                                                  ///< share of time that others have
};

/// A CPU with one thread on which every call takes 100 µs and 50 ns for each position.
class MadeUpCpu final : public Benchmark {
 public:
  explicit MadeUpCpu(Behaviour behaviour, uint64_t seed = 1)
      : behaviour_(std::move(behaviour)), random_(seed) {}

  static double usual_seconds(int64_t rows, int64_t columns) {
    return 100e-6 + 50e-9 * double(rows * columns);
  }
  Clock clock() {
    return [this] { return now_; };
  }
  size_t calls() const { return calls_; }

  DeviceKind device() const override { return DeviceKind::cpu; }
  Call operation_call(const Op&, ConvolutionAlgorithm, int64_t rows, int64_t columns) override {
    return call(rows, columns);
  }
  Call moving_call(const std::string&, int64_t, int64_t rows, int64_t columns) override {
    return call(rows, columns);
  }
  double seconds(const Call& call) override {
    CallTimes times(0.05);
    while (!times.enough()) {
      const double start = now_;
      call.run();
      times.add(now_ - start);
    }
    return times.seconds();
  }
  double reference_seconds() override {
    const double start = now_;
    spend(1e-3);
    return now_ - start;
  }
  double steady_clock_drift_seconds() const override { return 20e-3; }
  double waited_seconds() const override { return waited_; }
  int64_t live_bytes() const override { return 0; }
  void start_window() override {}
  int64_t window_peak_bytes() const override { return 0; }

 private:
  Call call(int64_t rows, int64_t columns) {
    return {
        [this, rows, columns] {
          ++calls_;
          spend(usual_seconds(rows, columns) * (1 + random_.uniform(-behaviour_.noise, behaviour_.noise)));
        },
        0};
  }
  void spend(double seconds) {
    const double own = seconds * behaviour_.drift(now_), all = own / (1 - behaviour_.waits);
    waited_ += all - own;
    now_ += all;
  }

  Behaviour behaviour_;
  Random random_;
  double now_ = 0, waited_ = 0;
  size_t calls_ = 0;
};

/// Share of the largest attention's time with few keys. The time is deduced and lacks the fixed part.
constexpr double kDeduced = 0.06;
const std::vector<Extent> kLatents{{1, 24, 24}};

struct Ran {
  MeasuredLatency measured;
  double seconds = 0;
  size_t calls = 0;
  std::vector<double> left;
};

Ran measured(MadeUpCpu& cpu, const LatencyEffort& effort, MeasuredPoints& points) {
  const Model model = test::model_of(test::tiny_config());
  Ran ran;
  const Clock clock = cpu.clock();
  const double began = clock();
  const LatencyRequest request{effort, clock, [&](double share, double left, const std::string& table) {
                                 CHECK(share >= 0);
                                 CHECK(share <= 1);
                                 CHECK(left >= 0);
                                 CHECK_FALSE(table.empty());
                                 ran.left.push_back(left);
                               }};
  ran.measured = measure_latency_tables(model.graph, kLatents, cpu, request, points);
  ran.seconds = clock() - began;
  ran.calls = cpu.calls();
  return ran;
}
Ran measured(const Behaviour& behaviour, const LatencyEffort& effort = {}) {
  MadeUpCpu cpu(behaviour);
  MeasuredPoints points;
  return measured(cpu, effort, points);
}

/// The largest relative error of any point of any table.
double largest_error(const MeasuredLatency& found) {
  double largest = 0;
  for (const LatencyTable& table : found.tables) {
    for (size_t i = 0; i < table.seconds.size(); ++i) {
      const double usual = MadeUpCpu::usual_seconds(table.rows[i / table.columns.size()],
                                                    table.columns[i % table.columns.size()]);
      largest = std::max(largest, std::abs(table.seconds[i] / usual - 1));
    }
  }
  return largest;
}

/// A verdict on a decode that spends the same on every table.
ProfileVerdict verdict_of(const MeasuredLatency& found) {
  Profile profile;
  profile.sizes = {{64, 64, 1, 1, 1, 1, "", {}}};
  profile.latency_tables = found.tables;
  profile.precision = found.precision;
  for (const LatencyTable& table : found.tables)
    profile.layers.push_back({"layer of " + table.name, "conv", {{1, 1, 0, 1.0, 1}}, table.name});
  return verdict_on(profile);
}

TEST_CASE("on a quiet machine every point is visited twice and nothing is noisy") {
  const Ran ran = measured({});
  CHECK(largest_error(ran.measured) < kDeduced);
  CHECK(ran.measured.precision.points > 200);
  CHECK(ran.measured.precision.noisy_points == 0);
  CHECK(ran.measured.precision.clock_drift < 1e-9);
  CHECK(ran.measured.precision.waited_share == 0);
  const ProfileVerdict verdict = verdict_of(ran.measured);
  CHECK_FALSE(verdict.refused);
  CHECK(verdict.within < 0.1);
}

TEST_CASE("noise costs time, within what is allowed, and what is not reached is told") {
  const Ran quiet = measured({});
  const Ran noisy = measured({.noise = 0.5});
  CHECK(noisy.seconds > 1.3 * quiet.seconds);
  CHECK(largest_error(noisy.measured) < 0.5);
  LatencyEffort hurried;
  hurried.seconds = quiet.seconds;
  const Ran cut = measured({.noise = 0.5}, hurried);
  CHECK(cut.seconds < 0.8 * noisy.seconds);  // one round of all points, and no more
  CHECK(cut.measured.precision.noisy_points > noisy.measured.precision.noisy_points);
}

TEST_CASE("a drift of the clock is taken out of what is measured, and is part of the error") {
  // Slower by half for six tenths of a second, every twelve.
  const Behaviour drifting{.drift = [](double now) { return std::fmod(now, 1.2) < 0.6 ? 1.0 : 1.5; }};
  const Ran ran = measured(drifting);
  std::vector<double> ratios;
  for (const LatencyTable& table : ran.measured.tables)
    ratios.push_back(table.seconds.back() /
                     MadeUpCpu::usual_seconds(table.rows.back(), table.columns.back()));
  const double usual = median(ratios);
  // Points that were measured while the clock drift changed may be off.
  const auto off = std::count_if(ratios.begin(), ratios.end(),
                                 [&](double ratio) { return std::abs(ratio / usual - 1) > 0.05; });
  CAPTURE(ran.seconds, usual);
  CHECK(double(off) < 0.35 * double(ratios.size()));
  CHECK(ran.measured.precision.clock_drift > 0.1);
  CHECK(verdict_of(ran.measured).within > verdict_of(measured({}).measured).within + 0.1);
}

TEST_CASE("what calls took in a decode on a slow clock is taken for what they take on the usual one") {
  MadeUpCpu cpu({.drift = [](double now) { return now < 4 ? 1.5 : 1.0; }});
  const Clock clock = cpu.clock();
  std::vector<double> seen;
  ClockDrift drift(cpu, clock, seen);
  const Call call = cpu.moving_call("gather", 0, 1000, 1000);
  std::vector<DecodeCalls> decode;
  while (clock() < 12) {
    const double start = clock();
    call.run();
    const double took = clock() - start;
    decode.push_back({"gather", 1000, 1000, 1, took, drift.sample()});
  }
  const double usual = MadeUpCpu::usual_seconds(1000, 1000);
  double slow = 0, corrected = 0;
  for (const DecodeCalls& each : decode) slow += each.seconds;
  for (const DecodeCalls& each : without_drift(decode, drift)) corrected += each.seconds;
  CHECK(slow / double(decode.size()) > 1.1 * usual);
  CHECK(corrected / double(decode.size()) == Approx(usual).epsilon(0.02));
}

TEST_CASE("where others have the processors the profile is refused, although its points agree") {
  const Ran busy = measured({.waits = 0.5});
  CHECK(busy.measured.precision.waited_share == Approx(0.5).epsilon(0.02));
  const ProfileVerdict verdict = verdict_of(busy.measured);
  CHECK(verdict.refused);
  CHECK_FALSE(verdict_of(measured({.waits = 0.04}).measured).refused);
}

TEST_CASE("a coarse profile takes half of the points or less") {
  const Ran fine = measured({});
  LatencyEffort effort;
  effort.coarse = true;
  const Ran coarse = measured({}, effort);
  CHECK(coarse.measured.precision.points < fine.measured.precision.points * 2 / 3);
  CHECK(coarse.seconds < fine.seconds * 2 / 3);
  CHECK(largest_error(coarse.measured) < kDeduced);
}

TEST_CASE("the time that is left is told, and goes down") {
  const Ran ran = measured({});
  REQUIRE(ran.left.size() > 10);
  CHECK(ran.left.back() < ran.seconds / 10);
  // In the middle of the first of two rounds, three quarters are left.
  CHECK(ran.left[ran.left.size() / 4] == Approx(0.75 * ran.seconds).epsilon(0.3));
  CHECK(ran.left[ran.left.size() * 3 / 4] == Approx(0.25 * ran.seconds).epsilon(0.5));
}

}  // namespace
}  // namespace headroom::profiler
