#include "reports/figures/passes.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>

#include "decoder/base/errors.h"
#include "decoder/schedule/blocks.h"
#include "planner/explain/explain.h"
#include "tests/decoder/plan/small_plan.h"
#include "tests/reports/figures/sample_documents.h"

namespace headroom::reports {
namespace {

size_t column(const Table& table, const std::string& title) {
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const Column& here = table.columns[i];
    if ((here.group.empty() ? here.title : here.title + " " + here.group) == title) return i;
  }
  FAIL("no column " << title);
  return 0;
}

double number(const Table& table, size_t row, const std::string& title) {
  return std::get<double>(table.rows.at(row).cells.at(column(table, title)));
}

std::string text(const Table& table, size_t row, const std::string& title) {
  return std::get<std::string>(table.rows.at(row).cells.at(column(table, title)));
}

void check_shape(const Table& table) {
  for (const Row& row : table.rows) {
    REQUIRE(row.cells.size() == table.columns.size());
    for (size_t i = 0; i < row.cells.size(); ++i) {
      if (table.columns[i].is_text) {
        CHECK_FALSE(std::holds_alternative<double>(row.cells[i]));
      } else {
        CHECK_FALSE(std::holds_alternative<std::string>(row.cells[i]));
      }
    }
  }
}

PlanDocument small_document() {
  Model model;
  model.graph = testing::small_graph();
  return {testing::small_plan(model.graph), model};
}

TEST_CASE("passes: the plan's own figures, and the pass that decides the peak") {
  PlanDocument document = small_document();
  document.plan.passes[1].predicted_peak_bytes += 1;
  document.plan.passes[2].convolutions = {ConvolutionAlgorithm::winograd, {OpId{0}}};
  const Table table = passes_table(document, nullptr);
  check_shape(table);
  REQUIRE(table.rows.size() == 3);
  for (size_t i = 0; i < 3; ++i) {
    const Pass& pass = document.plan.passes[i];
    CHECK(number(table, i, "pass") == double(i));
    CHECK(text(table, i, "name") == pass.name);
    CHECK(text(table, i, "tiles") == planner::short_tiles_text(pass));
    CHECK(text(table, i, "convolutions") == (i == 2 ? "winograd, 1 direct" : "direct"));
    CHECK(number(table, i, "predicted peak") == double(pass.predicted_peak_bytes));
    CHECK(number(table, i, "predicted time") == pass.predicted_seconds);
    CHECK(number(table, i, "work") == pass.predicted_flops);
    CHECK(table.rows[i].stands_out == (i == 1));
  }
}

TEST_CASE("passes: a run beside the plan, in the plan's order") {
  const PlanDocument document = small_document();
  RunStats run = test::run_as_predicted(document.plan);
  run.passes[0].seconds = 0.15;
  run.passes[1].seconds = 0.4;  // the worst prediction, which analyze() has first
  run.passes[2].peak_bytes = 39'000;
  const Table table = passes_table(document, &run);
  check_shape(table);
  REQUIRE(table.rows.size() == 3);
  for (size_t i = 0; i < 3; ++i) {
    CHECK(number(table, i, "pass") == double(i));
    CHECK(number(table, i, "measured peak") == double(run.passes[i].peak_bytes));
    CHECK(number(table, i, "measured time") == run.passes[i].seconds);
    CHECK(number(table, i, "ratio time") == Approx(run.passes[i].seconds / 0.1));
    CHECK(table.rows[i].stands_out == (i == 2));
  }
  CHECK(number(table, 2, "ratio peak") == Approx(1.5));

  const Table alone = passes_table(run);
  check_shape(alone);
  for (size_t i = 0; i < 3; ++i) {
    CHECK(text(alone, i, "name") == run.passes[i].name);
    for (const char* title :
         {"predicted peak", "measured peak", "predicted time", "measured time", "ratio time"})
      CHECK(number(alone, i, title) == number(table, i, title));
    CHECK(alone.rows[i].stands_out == (i == 2));
  }

  run.passes[0].predicted_seconds = 0;  // too short to be predicted: no ratio
  CHECK(std::holds_alternative<std::monostate>(
      passes_table(run).rows[0].cells[column(table, "ratio time") - 2]));
  run.limit_bytes += 1;
  CHECK_THROWS_AS(passes_table(document, &run), InputError);
}

TEST_CASE("passes: kept tensors by what writes and reads them") {
  const PlanDocument document = small_document();
  const std::vector<KeptSpan> spans = kept_spans(document);
  REQUIRE(spans.size() == 2);
  CHECK(spans[0].tensor == "conv_in");
  CHECK(spans[0].first_pass == 0);
  CHECK(spans[0].last_pass == 1);
  CHECK(spans[0].read_in == std::vector<int32_t>{1});
  CHECK(spans[0].bytes == 2 * 8 * 8 * 8 * 4);  // items, rows, columns, channels, fp32
  CHECK(spans[0].in_place_of.empty());
  CHECK(spans[1].read_in == std::vector<int32_t>{2});

  PlanDocument in_place;
  in_place.model.graph = testing::small_graph(1);
  in_place.plan = testing::small_plan_in_place(in_place.model.graph);
  CHECK(kept_spans(in_place)[1].in_place_of == "conv_in");
  CHECK(kept_spans(in_place)[0].read_in == std::vector<int32_t>{1});

  const Table table = kept_table(in_place);
  check_shape(table);
  REQUIRE(table.rows.size() == 2);
  CHECK(text(table, 1, "in place of") == "conv_in");
  CHECK(text(table, 0, "tier") == "device");
  CHECK(text(table, 0, "read in") == "1");
  CHECK(number(table, 1, "size") == 4096);
  CHECK(number(table, 1, "written in") == 1);
  CHECK(number(table, 1, "until") == 2);
}

TEST_CASE("passes: spans of a real plan agree with its tile programs") {
  const Model model = test::small_decoder();
  const planner::CostModel costs(model.graph);
  const Request request{"small", 160, 192, 1, GENERATE(1, 2), Dtype::fp32};
  planner::PlanOptions options{.limit_bytes = test::kAmple};
  if (GENERATE(false, true)) {
    options.scratch_folder = "/";
    options.scratch_limit_bytes = test::kAmple;
    options.limit_bytes = test::smallest_bytes(model, request, options, costs);
  }
  const PlanDocument document{planner::make_plan({model, request, options, costs}).value(), model};
  const Sizes sizes = sizes_of(model.graph, document.plan);
  int64_t bytes = 0, expected = 0, blocks = 0;
  int32_t written = 0;
  for (const KeptSpan& span : kept_spans(document)) {
    CAPTURE(span.tensor);
    bytes += span.bytes;
    CHECK(span.first_pass >= written);
    written = span.first_pass;
    REQUIRE_FALSE(span.read_in.empty());
    CHECK(span.read_in.back() == span.last_pass);
    CHECK(span.read_in.front() > span.first_pass);
    const TensorId id = model.graph.find_tensor(span.tensor);
    for (size_t pass = static_cast<size_t>(span.first_pass) + 1; pass < document.plan.passes.size(); ++pass) {
      bool reads = false;
      for (const Step& step : document.plan.passes[pass].steps) {
        for (const Operand& operand : step.inputs) reads |= operand.tensor == id && operand.step == -1;
      }
      CHECK(reads == (std::count(span.read_in.begin(), span.read_in.end(), static_cast<int32_t>(pass)) == 1));
    }
  }
  for (const KeptTensor& kept : document.plan.kept) {
    expected += kept_bytes(model.graph, kept, sizes);
    blocks += sizes.items * block_count(model.graph, kept, sizes);
  }
  CHECK(bytes <= expected);
  CHECK(expected - bytes < blocks * 4096);  // the pool's pages
}

TEST_CASE("passes: the frontier as a chart and a table") {
  planner::Configuration below{1, WeightResidency::per_pass, MemoryTier::scratch, 1 << 20};
  const std::vector<planner::FrontierPoint> points{{4'000, 1, {}}, {2'000, 2, {}}, {1'000, 7, below}};
  const Chart chart = frontier_chart(points, 3'000);
  CHECK(chart.x.logarithmic);
  REQUIRE(chart.series.size() == 2);
  for (const Series& series : chart.series) {
    CHECK(series.x == std::vector<double>{1'000, 2'000, 4'000});
    CHECK(series.y == std::vector<double>{7, 2, 1});
  }
  REQUIRE(chart.guides.size() == 1);
  CHECK(chart.guides[0].vertical);
  CHECK(chart.guides[0].at == 3'000);
  REQUIRE(chart.notes.size() == 1);
  CHECK(chart.notes[0].x == 2'000);
  CHECK(chart.notes[0].y == 2);
  CHECK(frontier_chart(points, 2'000).notes.at(0).x == 2'000);
  CHECK(frontier_chart(points, 999).notes.empty());
  CHECK(frontier_chart(points, 0).guides.empty());

  const Table table = frontier_table(points);
  check_shape(table);
  REQUIRE(table.rows.size() == 3);
  CHECK(number(table, 2, "peak") == 1'000);
  CHECK(number(table, 2, "time") == 7);
  CHECK(text(table, 2, "weights") == "per pass");
  CHECK(text(table, 0, "weights") == "throughout");
  CHECK(number(table, 2, "micro-batch") == 1);
  CHECK(text(table, 2, "lower tier") == "scratch");
  CHECK(text(table, 0, "lower tier") == "none");
}

}  // namespace
}  // namespace headroom::reports
