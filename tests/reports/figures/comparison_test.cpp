#include "reports/figures/comparison.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "tests/decoder/files/scratch.h"
#include "tests/decoder/plan/small_plan.h"
#include "tests/reports/figures/printed_figures.h"
#include "tests/reports/figures/sample_documents.h"
#include "tests/reports/figures/sample_gpu_trace.h"

namespace headroom::reports {
namespace {

const Table* table_of(const std::vector<Table>& tables, const std::string& start) {
  for (const Table& table : tables) {
    if (table.title.starts_with(start)) return &table;
  }
  return nullptr;
}

const Table& the(const std::vector<Table>& tables, const std::string& start) {
  const Table* table = table_of(tables, start);
  if (table == nullptr) FAIL("no table " << start);
  return *table;
}

const Row* row_of(const Table& table, const std::string& item) {
  for (const Row& row : table.rows) {
    if (std::get<std::string>(row.cells[0]) == item) return &row;
  }
  return nullptr;
}

const Row& row(const Table& table, const std::string& item) {
  const Row* found = row_of(table, item);
  if (found == nullptr) FAIL("no row " << item << " in " << table.title);
  return *found;
}

std::optional<double> number(const Cell& cell) {
  const double* found = std::get_if<double>(&cell);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

/// Rows of `item, a, b, ratio`, those of one side first, then by how far the ratio is from 1.
void check_order(const Table& table) {
  double before = std::numeric_limits<double>::infinity();
  for (const Row& row : table.rows) {
    REQUIRE(row.cells.size() == 4);
    const std::optional<double> a = number(row.cells[1]), b = number(row.cells[2]);
    REQUIRE((a || b));
    double distance = std::numeric_limits<double>::infinity();
    if (a && b) {
      CHECK(*a != *b);
      distance = std::numeric_limits<double>::max();
      if (const std::optional<double> ratio = number(row.cells[3])) {
        CHECK(*ratio == Approx(*b / *a));
        distance = std::abs(std::log(*ratio));
      }
    }
    CHECK(distance <= before);
    before = distance;
  }
}

std::vector<Table> compared(const Document& a, const Document& b) {
  const std::vector<Table> tables = compare(a, b);
  for (const Table& table : tables) {
    CAPTURE(table.title);
    if (table.columns.size() == 4) check_order(table);
  }
  return tables;
}

TEST_CASE("comparison: profiles layer by layer, at the sizes of both") {
  profiler::Profile a = test::made_up_profile(), b = test::made_up_profile();
  b.sizes[1].width_pixels = 1024;  // only the first size is shared
  b.layers[0].sizes[0].seconds *= 4;
  b.layers[1].sizes[0].seconds /= 8;
  b.layers[2].sizes[0].live_bytes += 1;
  b.layers[3].name = "e";
  b.device = "four cores";
  const std::vector<Table> tables = compared({"x/a.json", a}, {"x/b.json", b});

  test::check_expected("figures/compared_profiles.txt", test::printed(tables));
}

TEST_CASE("comparison: runs pass by pass") {
  const Graph graph = testing::small_graph();
  const RunStats a = test::run_as_predicted(testing::small_plan(graph));
  RunStats b = a;
  b.passes[1].seconds = 0.3;
  b.passes[2].peak_bytes = 13'000;
  b.outside_bytes = 4'096;
  b.passes.push_back({"one more", 1, 1, 1, 1});
  b.seconds = 0.5;
  b.threads = 4;
  b.verification = Verification{.compared_with = "the untiled decode", .psnr_db = 120};
  const std::vector<Table> tables = compared({"a.json", a}, {"b.json", b});
  test::check_expected("figures/compared_runs.txt", test::printed(tables));

  for (const Table& table : compared({"a.json", a}, {"again.json", a})) CHECK(table.rows.empty());
}

TEST_CASE("comparison: plans as headroom-plan diff has it") {
  Model model;
  model.graph = testing::small_graph();
  const PlanDocument a{testing::small_plan(model.graph), model};
  PlanDocument b{testing::small_plan_below(model.graph), model};
  b.plan.predicted_peak_bytes = 13'000;
  b.plan.passes[1].predicted_seconds = 0.4;
  b.plan.passes[2].steps[0].halo = {};
  const std::vector<Table> tables = compared({"a.json", a}, {"b.json", b});
  test::check_expected("figures/compared_plans.txt", test::printed(tables));

  // A tensor that one plan alone keeps.
  b.plan.kept.pop_back();
  CHECK(std::holds_alternative<std::monostate>(
      row(the(compared({"a.json", a}, {"b.json", b}), "What else"), "kept residual: tier").cells[2]));
}

TEST_CASE("comparison: frontiers at the limits of both") {
  FrontierDocument a, b;
  a.request = b.request = {"small", 64, 64, 1, 1, Dtype::fp32};
  b.request.dtype = Dtype::bf16;
  a.points = {{4 << 20, 1, {}}, {2 << 20, 3, {}}};
  b.points = {{3 << 20, 1.5, {}}, {1 << 20, 6, {}}};
  const std::vector<Table> tables = compared({"a.json", a}, {"b.json", b});
  // Under 1 MiB only b has a plan; under 2 MiB 3 and 6 s; under 3 MiB 3 and 1.5; under 4 MiB 1 and 1.5.
  test::check_expected("figures/compared_frontiers.txt", test::printed(tables));
}

RecordedTrace trace_of(double seconds, int64_t tile_bytes) {
  RecordedTrace recorded;
  Trace& trace = recorded.trace;
  trace.model = "small";
  trace.limit_bytes = 10'000;
  trace.seconds = seconds;
  trace.events = {{.seconds = 0, .bytes = 3'000, .kind = MemoryKind::weights},
                  {.seconds = seconds / 2,
                   .bytes = tile_bytes,
                   .tile = 0,
                   .pass = 0,
                   .layer = TensorId{0},
                   .kind = MemoryKind::tile},
                  {.seconds = seconds,
                   .bytes = -tile_bytes,
                   .tile = 0,
                   .pass = 0,
                   .layer = TensorId{0},
                   .kind = MemoryKind::tile}};
  trace.passes = {{.begin_seconds = 0, .end_seconds = seconds / 2},
                  {.begin_seconds = seconds / 2, .end_seconds = seconds, .item = 1}};
  trace.step_sums = {{0, 0, 1, seconds / 4}};
  recorded.layers = {"conv_in"};
  recorded.pass_names = {"conv_in"};
  recorded.steps = {{"gather", 0}};
  return recorded;
}

TEST_CASE("comparison: traces at their peaks, by passes and steps") {
  const std::vector<Table> tables = compared({"a.json", trace_of(2, 1'000)}, {"b.json", trace_of(1, 5'000)});
  test::check_expected("figures/compared_traces.txt", test::printed(tables));
}

TEST_CASE("comparison: traces of a GPU by its time, its kinds of memory and who watched") {
  const Graph graph = testing::small_graph();
  const Plan plan = testing::small_plan(graph);
  const RecordedTrace a = test::recorded_gpu_trace(plan, graph);
  RecordedTrace b = a;
  for (TraceStepSum& sum : b.trace.step_sums) sum.device_seconds *= sum.pass == 1 ? 2 : 1;
  b.trace.events[1].bytes *= 2;
  b.trace.sources[2].captured = true;
  const std::vector<Table> tables = compared({"a.json", a}, {"b.json", b});
  test::check_expected("figures/compared_gpu_traces.txt", test::printed(tables));
  // A trace of the CPU has no time of a GPU.
  CHECK(table_of(compared({"a.json", trace_of(2, 1'000)}, {"b.json", trace_of(1, 5'000)}),
                 "Time of the GPU") == nullptr);
}

TEST_CASE("comparison: files of two kinds are refused, both named") {
  const Document profile{"profile.json", profiler::Profile{}}, run{"stats.json", RunStats{}};
  test::require_input_error([&] { compare(profile, run); }, {"stats.json: schema", "profile.json", "stats"});
}

TEST_CASE("comparison: columns of files of one name are told apart") {
  const auto titles = [](const char* a, const char* b) {
    RunStats other;
    other.seconds = 1;
    const Table table = compare({a, RunStats{}}, {b, other}).front();
    return std::pair(table.columns[1].title, table.columns[2].title);
  };
  CHECK(titles("x/a.json", "y/b.json") == std::pair<std::string, std::string>("a.json", "b.json"));
  CHECK(titles("x/a.json", "y/a.json") == std::pair<std::string, std::string>("x/a.json", "y/a.json"));
  CHECK(titles("a.json", "a.json") == std::pair<std::string, std::string>("A", "B"));
}

}  // namespace
}  // namespace headroom::reports
