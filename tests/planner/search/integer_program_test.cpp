#include "tests/support/integer_program.h"

#include <catch2/catch.hpp>
#include <map>

#include "planner/search/make_plan.h"
#include "tests/support/plan_oracle.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_plan.h"
#include "tests/support/simulated_gpu.h"
#include "tests/support/thorough.h"

namespace headroom::planner {
namespace {

using test::Assumptions;
using test::Found;
using test::IntegerProgram;
using test::OracleConfiguration;
using test::PlanOracle;
using test::Random;

/// CBC takes costs that differ by less than its tolerances for equal, and passes take milliseconds.
constexpr double kTimeUnits = 1e5;

/// Plan selection as an integer program: a binary for every way to run every pass with every shape, one of
/// which each pass takes, and a binary kept[tensor, tier, boundary] for every tensor between two
/// passes. A pass's choice must find exactly the tensors that are kept before it and leave exactly
/// those that are kept after it: equalities tensor by tensor. Nothing in it knows of paths.
IntegerProgram program_of(const PlanOracle& oracle, int64_t limit_bytes, bool by_peak) {
  IntegerProgram program;
  // Peaks in MiB, so that CBC's tolerances suit both objectives.
  constexpr double kUnit = 1 << 20;
  const int peak = by_peak ? program.continuous(1) : -1;
  std::vector<std::map<Found, int>> kept(oracle.passes() + 1);
  for (size_t boundary = 0; boundary <= oracle.passes(); ++boundary) {
    for (const test::OracleState& state : oracle.states(boundary)) {
      for (const Found& found : state.found) {
        if (!kept[boundary].contains(found)) kept[boundary][found] = program.binary(0);
      }
    }
  }
  for (size_t pass = 0; pass < oracle.passes(); ++pass) {
    IntegerProgram::Terms one, peaks;
    std::map<Found, IntegerProgram::Terms> finds, leaves;
    for (const auto& [found, variable] : kept[pass]) finds[found] = {{variable, -1}};
    for (const auto& [found, variable] : kept[pass + 1]) leaves[found] = {{variable, -1}};
    for (const test::OracleState& state : oracle.states(pass)) {
      for (const test::OracleChoice& choice : state.choices) {
        IntegerProgram::Terms parts;
        for (const test::OracleShape& shape : choice.shapes) {
          if (shape.peak_bytes > limit_bytes) continue;
          const int taken = program.binary(by_peak ? 0 : shape.seconds * kTimeUnits);
          one.push_back({taken, 1});
          parts.push_back({taken, -1});
          peaks.push_back({taken, double(shape.peak_bytes) / kUnit});
          for (const Found& found : state.found) finds[found].push_back({taken, 1});
          for (const Found& found : oracle.states(pass + 1)[choice.next].found)
            leaves[found].push_back({taken, 1});
        }
        if (choice.lower_shapes.empty()) continue;
        // A shape of the lower part where there is one of the upper part.
        for (const test::OracleShape& shape : choice.lower_shapes) {
          if (shape.peak_bytes > limit_bytes) continue;
          parts.push_back({program.binary(by_peak ? 0 : shape.seconds * kTimeUnits), 1});
          if (by_peak)
            program.at_most({{parts.back().first, double(shape.peak_bytes) / kUnit}, {peak, -1}}, 0);
        }
        program.equal(parts, 0);
      }
    }
    program.equal(one, 1);
    for (const auto& [found, terms] : finds) program.equal(terms, 0);
    for (const auto& [found, terms] : leaves) program.equal(terms, 0);
    if (!by_peak) continue;
    peaks.push_back({peak, -1});
    program.at_most(peaks, 0);
  }
  return program;
}

TEST_CASE("the planner finds what CBC finds for the same choices as an integer program") {
  const uint64_t ten = GENERATE(range(uint64_t{0}, uint64_t{28}, test::kCaseStep));
  const bool on_cuda = (ten >= 15 && ten < 20) || ten >= 24, above = ten >= 20;
  int tried = 0;
  for (uint64_t seed = 70000 + ten * 10; seed < 70000 + (ten + 1) * 10; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Model model =
        test::random_model(random, {.operations = random.integer(16, 40), .barriers = random.integer(3, 9)});
    Request request = test::request_for(model, {1, random.integer(2, 20), random.integer(3, 60)});
    if (on_cuda) request.device = DeviceKind::cuda;
    OracleConfiguration configuration{
        1, random.pick<WeightResidency>({WeightResidency::resident, WeightResidency::per_pass}), {}, 0};
    const MemoryTier lower = request.device == DeviceKind::cuda ? MemoryTier::host : MemoryTier::scratch;
    if (above)
      configuration.above_latent_rows =
          random.integer(1, request.height_pixels / model.graph.tensor(model.graph.output()).scale.y - 1);
    if (!above && random.chance(0.3))
      configuration = {1, configuration.weights, lower, random.integer(1, 60) * 4096};
    Assumptions assumptions = test::assumptions_for(request);
    if (on_cuda) assumptions.card = test::random_card(random);
    const CostModel costs = test::assumed_costs(model.graph, request.device, assumptions.card);
    assumptions.memory = costs.memory();
    const PlanOracle oracle(model, request, configuration, assumptions, on_cuda && above ? 400 : 120);
    if (!oracle.complete()) continue;
    ++tried;
    Configuration of_planner{configuration.micro_batch, configuration.weights, configuration.lower_tier,
                             configuration.lower_limit_bytes};
    if (above) of_planner.rows_above = {configuration.above_latent_rows};
    PlanSpace space(model, request, of_planner, costs);
    const int64_t smallest = smallest_limit(space).bytes;
    CAPTURE(smallest);
    CHECK(double(smallest) / (1 << 20) ==
          Approx(*program_of(oracle, int64_t{1} << 50, true).least_cost()).epsilon(1e-7));
    CHECK_FALSE(program_of(oracle, smallest - 1, false).least_cost().has_value());
    for (const int64_t limit : {smallest, smallest + random.integer(1, smallest / 4), int64_t{1} << 50}) {
      CAPTURE(limit);
      const std::optional<Solution> found = fastest(space, limit).solution;
      REQUIRE(found.has_value());
      const std::optional<double> least = program_of(oracle, limit, false).least_cost();
      REQUIRE(least.has_value());
      CHECK(found->seconds == Approx(oracle.start_seconds() + *least / kTimeUnits).epsilon(1e-7));
    }
  }
  CHECK(tried >= 3);
}

}  // namespace
}  // namespace headroom::planner
