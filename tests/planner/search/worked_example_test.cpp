#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "planner/search/solver.h"
#include "tests/support/exact_costs.h"
#include "tests/support/expected.h"
#include "tests/support/random_plan.h"

// The search from docs/planning.md, "One example". HEADROOM_PRINT_SEARCH=1 prints its figures.
namespace headroom::planner {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

/// conv1, GroupNorm, conv2.
Model example_model() {
  Model model;
  Graph& graph = model.graph;
  const TensorId a = graph.conv("conv1", graph.add_latent(4), 64, {1, 3, 3});
  const TensorId norm = graph.norm("norm", a, graph.statistics("statistics", a, 32, 1e-6), Activation::silu);
  graph.set_output(graph.conv("conv2", norm, 3, {1, 3, 3}));
  return model;
}

std::string text_of(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string names_of(const Graph& graph, const Frontier& frontier) {
  std::string names;
  for (const Residence& tensor : frontier)
    names += (names.empty() ? "" : ", ") + graph.tensor(tensor.tensor).name;
  return "{" + names + "}";
}

/// Describes an edge from a state: the fastest tile shape that fits the limit.
std::string edge_text(PlanSpace& space, const State& state, Choice& choice, int64_t limit_mib) {
  space.work_out(state, choice);
  for (size_t number = 0; number < choice.shapes->size(); ++number) {
    const Shape& shape = choice.shapes->shape(number);
    if (choice.peak_bytes(shape) > limit_mib * kMiB) continue;
    PassDecision decision;
    choice.shapes->decide(shape, decision);
    const Extent& tile = decision.tile;
    return "    within " + std::to_string(limit_mib) +
           " MiB: " + text_of("%.1f µs", 1e6 * choice.seconds(shape)) + " in tiles of " +
           std::to_string(tile.x) + "x" + std::to_string(tile.y) +
           text_of(", peak %.1f MiB\n", double(choice.peak_bytes(shape)) / double(kMiB));
  }
  return "does not fit\n";
}

/// Lists every state with its bound, followed by its edges.
std::string states_text(PlanSpace& space, const Graph& graph) {
  std::string text;
  std::vector<std::pair<State*, double>> reached{{&space.start(), 0}};
  for (size_t pass = 0; pass < space.passes(); ++pass) {
    std::vector<std::pair<State*, double>> next;
    for (const auto& [state, again] : reached) {
      text += "pass " + std::to_string(pass) + ", frontier " + names_of(graph, *state->frontier) +
              ": at least " + text_of("%.1f µs", 1e6 * (space.least_seconds_from(pass) + again)) +
              " to come\n";
      for (Choice& choice : space.choices(*state)) {
        text += "  to frontier " + names_of(graph, *choice.next->frontier) + "\n";
        for (const int64_t limit_mib : {80, 40}) text += edge_text(space, *state, choice, limit_mib);
        next.emplace_back(choice.next, choice.recompute_seconds);
      }
    }
    reached = std::move(next);
  }
  return text;
}

TEST_CASE("search: the example of docs/planning.md") {
  const Model model = example_model();
  const CostModel costs = test::exact_costs(model.graph);
  const Request request = test::request_for(model, {1, 512, 512}, 1, Dtype::bf16, DeviceKind::cuda);
  PlanSpace space(model, request, {}, costs);
  const SpaceSearch wide = fastest(space, 80 * kMiB), narrow = fastest(space, 40 * kMiB);
  REQUIRE((wide.solution && narrow.solution));
  CHECK(wide.solution->decisions[0].keeps.size() == 1);
  CHECK(narrow.solution->decisions[0].keeps.empty());
  const std::string text = states_text(space, model.graph) +
                           "fastest within 80 MiB: " + text_of("%.1f µs", 1e6 * wide.solution->seconds) +
                           "; within 40 MiB: " + text_of("%.1f µs", 1e6 * narrow.solution->seconds) + "; " +
                           text_of("%.1f µs", 1e6 * space.start_seconds()) + " of it to load the weights\n";
  if (std::getenv("HEADROOM_PRINT_SEARCH") != nullptr) std::printf("%s", text.c_str());
  test::check_expected("worked_example.txt", text);
}

}  // namespace
}  // namespace headroom::planner
