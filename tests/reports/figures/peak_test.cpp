#include "reports/figures/peak.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "decoder/base/errors.h"
#include "decoder/schedule/blocks.h"
#include "planner/cost/device_costs.h"
#include "planner/explain/explain.h"
#include "tests/reports/figures/sample_documents.h"
#include "tests/support/random_graph.h"

namespace headroom::reports {
namespace {

Request small_request(int64_t width, int64_t height, int64_t batch = 1) {
  return {"small", width, height, 1, batch, Dtype::fp32};
}

/// Pass, step and what is live must explain the plan's peak.
void check_decision(const DocumentPtr& document) {
  const Plan& plan = document->as<PlanDocument>()->plan;
  const Graph& graph = document->as<PlanDocument>()->model.graph;
  const PeakDecision decision = peak_cause(document);
  CHECK(decision.bytes == plan.predicted_peak_bytes);
  REQUIRE(decision.pass < plan.passes.size());
  const Pass& pass = plan.passes[decision.pass];
  CHECK(pass.predicted_peak_bytes == plan.predicted_peak_bytes);
  CHECK(decision.pass_name == pass.name);

  int64_t bytes = 0, kept = 0, tiles = 0, working = 0;
  for (const LiveEntry& entry : decision.live) {
    bytes += entry.bytes;
    if (entry.kind == MemoryKind::kept) kept += entry.bytes;
    if (entry.kind == MemoryKind::tile) tiles += entry.bytes;
    if (entry.kind == MemoryKind::tile || entry.kind == MemoryKind::workspace) working += entry.bytes;
  }
  CHECK(bytes == decision.bytes);
  CHECK(std::is_sorted(decision.live.begin(), decision.live.end(),
                       [](const LiveEntry& a, const LiveEntry& b) { return a.bytes > b.bytes; }));
  const Sizes sizes = sizes_of(graph, plan);
  int64_t stored = 0;
  for (const KeptTensor& entry : plan.kept) {
    const auto now = static_cast<int32_t>(decision.pass);
    if (entry.first_pass <= now && now <= entry.last_pass) stored += kept_bytes(graph, entry, sizes);
  }
  CHECK(kept <= stored);

  // A step of that pass, as explain has it, which has just these tiles and this workspace.
  bool is_one = false;
  const Extent longest = longest_tile(pass);
  for (size_t band = 0; band < pass.tiles.y.size(); ++band) {
    const Extent tile{longest.t, pass.tiles.y[band].length(), longest.x};
    const BandPlace place = band == 0 ? BandPlace::first : BandPlace::further_down;
    const std::vector<StepBytes> all =
        step_bytes(graph, pass, {tile, place}, sizes, planner::cpu_memory_model(graph));
    for (size_t i = 0; i < all.size(); ++i) {
      is_one |= all[i].tiles + all[i].carried == tiles && all[i].total() == working &&
                planner::step_text(pass.steps[i], graph) == decision.step;
    }
  }
  CAPTURE(decision.step, tiles, working);
  CHECK(is_one);
}

TEST_CASE("peak: pass, step and what is live explain the plan's peak") {
  const Model model = test::small_decoder();
  const planner::CostModel costs(model.graph);
  const Request request = small_request(192, 160, GENERATE(1, 2));
  const int64_t smallest = test::smallest_bytes(model, request, {}, costs);
  const double share = GENERATE(1.0, 1.3, 2.0, 100.0);
  CAPTURE(request.batch, share);
  const auto limit = static_cast<int64_t>(double(smallest) * share);
  check_decision(test::document_of(test::planned(model, request, limit, costs), "plan.json"));
}

TEST_CASE("peak: the same of any decoder") {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    test::Random random(seed);
    const Model model =
        test::random_model(random, {.operations = random.integer(4, 24), .barriers = random.integer(1, 6)});
    const Extent latent{1, random.integer(4, 48), random.integer(4, 48)};
    const Request request = test::request_for(model, latent, random.integer(1, 2));
    const planner::CostModel costs(model.graph);
    const int64_t smallest = test::smallest_bytes(model, request, {}, costs);
    const auto limit = static_cast<int64_t>(double(smallest) * random.uniform(1, 2));
    check_decision(test::document_of(test::planned(model, request, limit, costs), "plan.json"));
  }
}

TEST_CASE("peak: the table of remedies says what each saves") {
  const std::vector<planner::Remedy> found{{"", "as it is", 800, 3}, {"--dtype bf16", "16 bits", 400, 2}};
  const Table table = remedies_table(found, 1'000);
  REQUIRE(table.rows.size() == 2);
  const auto number = [&](size_t row, size_t column) {
    return std::get<double>(table.rows.at(row).cells.at(column));
  };
  for (const Row& row : table.rows) CHECK(row.cells.size() == table.columns.size());
  CHECK(std::get<std::string>(table.rows[1].cells[0]) == "--dtype bf16");
  CHECK(number(0, 2) == 800);
  CHECK(number(0, 3) == 200);
  CHECK(number(1, 3) == 600);
  CHECK(number(1, 4) == Approx(0.6));
  CHECK(number(1, 5) == 2);
  CHECK_FALSE(table.rows[0].stands_out);
  CHECK(table.rows[1].stands_out);
  CHECK(remedies_table({}, 1'000).rows.empty());
}

}  // namespace
}  // namespace headroom::reports
