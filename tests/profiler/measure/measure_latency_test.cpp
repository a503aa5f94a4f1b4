// Latency tables of a device that is made up: its time and its noise.
#include "profiler/measure/measure_latency.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "profiler/profile/time_error.h"
#include "tests/support/random.h"
#include "tests/support/tiny_model.h"

namespace headroom::profiler {
namespace {

using test::Random;

/// How a made-up machine behaves, by its own clock.
struct Behaviour {
  double noise = 0;  ///< uniform, relative, of every call
};

/// A CPU with one thread on which every call takes 100 µs and 50 ns for each position.
class MadeUpCpu final : public Benchmark {
 public:
  explicit MadeUpCpu(const Behaviour& behaviour) : behaviour_(behaviour), random_(1) {}

  static double usual_seconds(int64_t rows, int64_t columns) {
    return 100e-6 + 50e-9 * double(rows * columns);
  }
  Clock clock() {
    return [this] { return now_; };
  }

  DeviceKind device() const override { return DeviceKind::cpu; }
  Call operation_call(const Op&, ConvolutionAlgorithm, int64_t rows, int64_t columns) override {
    return call(rows, columns);
  }
  Call moving_call(const std::string&, int64_t, int64_t rows, int64_t columns) override {
    return call(rows, columns);
  }
  Estimate seconds(const Call& call) override {
    CallTimes times(0.05);
    while (!times.enough()) {
      const double start = now_;
      call.run();
      times.add(now_ - start);
    }
    return times.estimate();
  }
  int64_t live_bytes() const override { return 0; }
  void start_window() override {}
  int64_t window_peak_bytes() const override { return 0; }

 private:
  Call call(int64_t rows, int64_t columns) {
    return {[this, rows, columns] {
              now_ +=
                  usual_seconds(rows, columns) * (1 + random_.uniform(-behaviour_.noise, behaviour_.noise));
            },
            0};
  }

  Behaviour behaviour_;
  Random random_;
  double now_ = 0;
};

/// Share of the largest attention's time with few keys. The time is deduced and lacks the fixed part.
constexpr double kDeduced = 0.06;
const std::vector<Extent> kLatents{{1, 24, 24}};

struct Ran {
  MeasuredLatency measured;
  double seconds = 0;
  std::vector<double> left;
};

Ran measured(const Behaviour& behaviour, bool coarse = false) {
  const Model model = test::model_of(test::tiny_config());
  MadeUpCpu cpu(behaviour);
  Ran ran;
  const Clock clock = cpu.clock();
  const LatencyRequest request{coarse, clock, [&](double left, const std::string& table) {
                                 CHECK(left >= 0);
                                 CHECK_FALSE(table.empty());
                                 ran.left.push_back(left);
                               }};
  ran.measured = measure_latency_tables(model.graph, kLatents, cpu, request);
  ran.seconds = clock();
  return ran;
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

TEST_CASE("on a quiet machine every point is precise") {
  const Ran ran = measured({});
  CHECK(largest_error(ran.measured) < kDeduced);
  CHECK(ran.measured.precision.points > 200);
  CHECK(ran.measured.precision.noisy_points == 0);
  const ProfileVerdict verdict = verdict_of(ran.measured);
  CHECK_FALSE(verdict.refused);
  CHECK(verdict.within < 0.13);
}

TEST_CASE("noise costs time, and the profile says which points it leaves less precise") {
  const Ran quiet = measured({});
  const Ran noisy = measured({.noise = 0.5});
  CHECK(noisy.seconds > 1.3 * quiet.seconds);
  CHECK(largest_error(noisy.measured) < 0.5);
  CHECK(noisy.measured.precision.noisy_points > 0);
  CHECK(verdict_of(noisy.measured).within > verdict_of(quiet.measured).within);
}

TEST_CASE("a coarse profile takes half of the points or less") {
  const Ran fine = measured({});
  const Ran coarse = measured({}, true);
  CHECK(coarse.measured.precision.points < fine.measured.precision.points * 2 / 3);
  CHECK(coarse.seconds < fine.seconds * 2 / 3);
  CHECK(largest_error(coarse.measured) < kDeduced);
}

TEST_CASE("the time that is left is told, and goes down") {
  const Ran ran = measured({});
  REQUIRE(ran.left.size() > 10);
  CHECK(ran.left.front() > 0.2 * ran.seconds);
  CHECK(ran.left.back() < ran.seconds / 10);
  CHECK(ran.left[ran.left.size() / 2] == Approx(0.5 * ran.seconds).epsilon(0.5));
}

}  // namespace
}  // namespace headroom::profiler
