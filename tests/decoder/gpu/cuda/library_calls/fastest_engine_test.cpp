#include "decoder/gpu/cuda/library_calls/fastest_engine.h"

#include <catch2/catch.hpp>
#include <numeric>
#include <vector>

namespace headroom::gpu {
namespace {

/// Engines of constant speed. The first run of each takes much longer.
struct Engines {
  std::vector<double> seconds;
  std::vector<int> calls = std::vector<int>(seconds.size()), runs = calls;
  double slower_each_call = 1;  ///< clock drift: factor of all times from one call to the next

  FastestEngine fastest() {
    double drift = 1;
    return fastest_engine(seconds.size(), [&](size_t engine, int count) {
      runs[engine] += count;
      drift *= slower_each_call;
      return calls[engine]++ == 0 ? 1.0 : seconds[engine] * drift;
    });
  }
};

TEST_CASE("the fastest engine is found, whatever its place") {
  const size_t place = GENERATE(0, 1, 3);
  Engines engines{{1e-3, 1.1e-3, 1.5e-3, 1.05e-3}};
  engines.seconds[place] = 0.8e-3;
  const FastestEngine found = engines.fastest();
  CHECK(found.engine == place);
  CHECK(found.seconds == Approx(0.8e-3));
  CHECK(found.first_seconds == Approx(engines.seconds[0]));
}

TEST_CASE("the library's first engine stays unless another one gains more than noise") {
  Engines level{{1e-3, 0.985e-3, 0.99e-3}};
  const FastestEngine found = level.fastest();
  CHECK(found.engine == 0);
  CHECK(found.seconds == found.first_seconds);
  CHECK(Engines{{1e-3, 0.975e-3}}.fastest().engine == 1);
}

TEST_CASE("clearly slower engines are timed once after the warm-up") {
  Engines engines{{1e-3, 2e-3, 0.9e-3}};
  CHECK(engines.fastest().engine == 2);
  CHECK(engines.calls[1] == 2);
  CHECK(engines.calls[2] > 4);
  CHECK(engines.calls[2] == engines.calls[0] - 1);  // the first one also sets the number of runs
}

TEST_CASE("a clock that slows down does not favour the engines that are timed first") {
  Engines engines{{1e-3, 1e-3, 0.95e-3}};
  engines.slower_each_call = 1.002;
  CHECK(engines.fastest().engine == 2);
}

TEST_CASE("short runs are timed many in a row, long ones alone") {
  Engines brief{{10e-6, 9e-6}}, lengthy{{20e-3, 19e-3}};
  CHECK(brief.fastest().engine == 1);
  CHECK(brief.runs[1] > 20 * (brief.calls[1] - 1));
  CHECK(lengthy.fastest().engine == 1);
  CHECK(lengthy.runs == lengthy.calls);
}

TEST_CASE("a single engine is the fastest") {
  CHECK(Engines{{1e-3}}.fastest().engine == 0);
}

}  // namespace
}  // namespace headroom::gpu
