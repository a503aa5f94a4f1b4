#include "profiler/measure/decode_calls.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "decoder/schedule/build_plan.h"
#include "decoder/validator/validator.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_model.h"

namespace headroom::profiler {
namespace {

/// Whose calls take a second for each row.
LatencyTable table_of(const std::string& name) {
  LatencyTable table{name, {1, 16, 64, 256}, {256}, {}, {}, 0, 0};
  for (int64_t rows : table.rows) table.seconds.push_back(double(rows));
  table.workspace_bytes.assign(table.seconds.size(), 0);
  return table;
}

TEST_CASE("calls take what they took in decodes: between two by what lies between, beyond by the nearest") {
  std::vector<LatencyTable> tables{table_of("conv"), table_of("not met")};
  const double ratio = calibrate_with_decodes(
      tables,
      {{{"conv", 16, 256, 10, 160 * 1.1}, {"other", 1, 1, 1, 1}}, {{"conv", 256, 256, 1, 256 * 1.3}}});
  CHECK(ratio == Approx(1.3));
  CHECK(tables[0].seconds[0] == Approx(1 * 1.1));
  CHECK(tables[0].seconds[1] == Approx(16 * 1.1));
  CHECK(tables[0].seconds[2] == Approx(64 * 1.2));  // half way in powers of two
  CHECK(tables[0].seconds[3] == Approx(256 * 1.3));
  CHECK(tables[1] == table_of("not met"));
}

TEST_CASE("of what a decode has little, the ratio is that of all") {
  std::vector<LatencyTable> tables{table_of("much"), table_of("little")};
  calibrate_with_decodes(tables, {{{"much", 64, 256, 100, 6400 * 1.2}, {"little", 1, 256, 1, 1.5}}});
  CHECK(tables[0].seconds[2] == Approx(64 * 1.2).epsilon(1e-3));
  CHECK(tables[1].seconds[0] == Approx(1.2).epsilon(0.01));
}

TEST_CASE("a ratio that caches cannot explain is held back") {
  std::vector<LatencyTable> tables{table_of("conv")};
  calibrate_with_decodes(tables, {{{"conv", 64, 256, 1, 64 * 9.0}}});
  CHECK(tables[0].seconds[2] == Approx(64 * 1.5));
}

TEST_CASE("all steps of a tiled decode are recorded, by the tables that plans look up") {
  const Model model = test::model_of(test::tiny_config());
  const Request request = test::request_for(model, {1, 40, 72});
  const Plan untiled = untiled_plan(model, request, ConvolutionAlgorithm::winograd);
  const Plan plan = tiled_for_calls(model.graph, untiled);
  CHECK(plan.passes.back().tiles.y.size() > 1);
  CHECK(plan.passes.back().tiles.x.size() > 1);
  // Smaller tiles need less memory, so the plan stays valid.
  CHECK(validate(plan, model).empty());
  DecodeCallRecorder recorder(model.graph, sizes_of(model.graph, plan), nullptr);
  for (size_t p = 0; p < plan.passes.size(); ++p) {
    const Pass& pass = plan.passes[p];
    for (int64_t tile = 0; tile < int64_t(pass.tiles.y.size() * pass.tiles.x.size()); ++tile) {
      for (size_t s = 0; s < pass.steps.size(); ++s)
        recorder.step_done(plan, {.pass = int32_t(p), .tile = tile, .step = int32_t(s), .seconds = 1});
    }
  }
  double seconds = 0, calls = 0;
  std::set<std::string> names;
  for (const DecodeCalls& each : recorder.calls()) {
    CAPTURE(each.table);
    CHECK(each.rows > 0);
    CHECK(each.columns > 0);
    seconds += each.seconds, calls += each.calls;
    names.insert(each.table);
  }
  double steps = 0;
  for (const Pass& pass : plan.passes)
    steps += double(pass.steps.size() * pass.tiles.y.size() * pass.tiles.x.size());
  CHECK(seconds == steps);
  CHECK(calls == steps);
  for (const Op& op : model.graph.ops()) {
    CAPTURE(op.name);
    const bool added = op.kind == OpKind::add;
    CHECK((added || names.count(latency_table_name(model.graph, op, ConvolutionAlgorithm::winograd)) == 1));
  }
  CHECK(names.count("gather 4") == 1);
  CHECK(names.count("emit 3") == 1);
}

}  // namespace
}  // namespace headroom::profiler
