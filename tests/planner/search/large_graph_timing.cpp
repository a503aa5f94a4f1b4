#include <chrono>
#include <cstdlib>
#include <iostream>

#include "planner/search/make_plan.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_plan.h"

/// Measures planning time on random graphs of 500 operations: `large_graph_timing FIRST LAST` prints a line
/// per seed. Two optional arguments set the number of operations and the share of blocks with a long skip.
int main(int argc, char** argv) {
  using namespace headroom;
  using Clock = std::chrono::steady_clock;
  if (argc != 3 && argc != 5) {
    std::cerr << "usage: large_graph_timing FIRST_SEED LAST_SEED [OPERATIONS LONG_SKIPS]\n";
    return 2;
  }
  for (int64_t seed = std::atoll(argv[1]); seed <= std::atoll(argv[2]); ++seed) {
    test::Random random(static_cast<uint64_t>(seed));
    const Model model = argc == 3 ? test::large_model(random)
                                  : test::large_model(random, std::atoll(argv[3]), std::atof(argv[4]));
    const Request request = test::request_for(model, {1, 64, 64});
    const planner::CostModel costs(model.graph);
    int64_t peak_bytes = 0;
    double seconds[2] = {};
    bool optimal = true;
    // First without a limit, then with three quarters of the peak.
    for (const bool tight : {false, true}) {
      const auto begin = Clock::now();
      const Plan plan =
          planner::make_plan(
              {model, request, {.limit_bytes = tight ? peak_bytes * 3 / 4 : int64_t{1} << 50}, costs})
              .value();
      seconds[tight] = std::chrono::duration<double>(Clock::now() - begin).count();
      optimal = optimal && plan.optimal;
      if (!tight) peak_bytes = plan.predicted_peak_bytes;
    }
    std::cout << "{\"seed\": " << seed << ", \"operations\": " << model.graph.ops().size()
              << ", \"peak_bytes\": " << peak_bytes << ", \"ample_seconds\": " << seconds[0]
              << ", \"tight_seconds\": " << seconds[1] << ", \"optimal\": " << (optimal ? "true" : "false")
              << "}" << std::endl;
  }
}
