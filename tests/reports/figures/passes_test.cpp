#include "reports/figures/passes.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>

#include "decoder/base/errors.h"
#include "decoder/schedule/blocks.h"
#include "planner/explain/explain.h"
#include "tests/decoder/plan/small_plan.h"
#include "tests/reports/figures/printed_figures.h"
#include "tests/reports/figures/sample_documents.h"

namespace headroom::reports {
namespace {

PlanDocument small_document() {
  Model model;
  model.graph = testing::small_graph();
  return {testing::small_plan(model.graph), model};
}

TEST_CASE("passes: the plan's own figures, and the pass that decides the peak") {
  PlanDocument document = small_document();
  document.plan.passes[1].predicted_peak_bytes += 1;
  document.plan.passes[2].convolutions = {ConvolutionAlgorithm::winograd, {OpId{0}}};
  test::check_expected("figures/planned_passes.txt", test::printed(passes_table(document, nullptr)));
}

TEST_CASE("passes: a run beside the plan, in the plan's order") {
  const PlanDocument document = small_document();
  RunStats run = test::run_as_predicted(document.plan);
  run.passes[0].seconds = 0.15;
  run.passes[1].seconds = 0.4;  // the worst prediction, which analyze() has first
  run.passes[2].peak_bytes = 39'000;
  test::check_expected("figures/measured_passes.txt",
                       test::printed({passes_table(document, &run), passes_table(run)}));

  run.passes[0].predicted_seconds = 0;  // too short to be predicted: no ratio
  test::check_expected("figures/pass_without_prediction.txt", test::printed(passes_table(run)));
  run.limit_bytes += 1;
  CHECK_THROWS_AS(passes_table(document, &run), InputError);
}

TEST_CASE("passes: kept tensors by what writes and reads them") {
  const PlanDocument document = small_document();
  const std::vector<KeptSpan> spans = kept_spans(document);
  REQUIRE(spans.size() == 2);
  CHECK(spans[0].in_place_of.empty());
  CHECK(spans[1].read_in == std::vector<int32_t>{2});

  PlanDocument in_place;
  in_place.model.graph = testing::small_graph(1);
  in_place.plan = testing::small_plan_in_place(in_place.model.graph);
  CHECK(kept_spans(in_place)[1].in_place_of == "conv_in");
  CHECK(kept_spans(in_place)[0].read_in == std::vector<int32_t>{1});

  test::check_expected("figures/kept.txt", test::printed({kept_table(document), kept_table(in_place)}));
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
  test::check_expected("figures/frontier.txt", test::printed(frontier_chart(points, 3'000)) + "\n" +
                                                   test::printed(frontier_table(points)));
  CHECK(frontier_chart(points, 2'000).notes.at(0).x == 2'000);
  CHECK(frontier_chart(points, 999).notes.empty());
  CHECK(frontier_chart(points, 0).guides.empty());
}

}  // namespace
}  // namespace headroom::reports
