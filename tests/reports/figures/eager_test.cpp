#include "reports/figures/eager.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "decoder/base/os/whole_file.h"
#include "profiler/eager/recording_file.h"
#include "reports/figures/comparison.h"
#include "reports/figures/engines.h"
#include "tests/decoder/files/scratch.h"
#include "tests/profiler/eager/recording_json.h"
#include "tests/reports/figures/sample_documents.h"
#include "tests/reports/figures/sample_recording.h"

namespace headroom::reports {
namespace {

using profiler::EagerRecording;
using test::made_up_recording;
using test::Scratch;

TEST_CASE("eager: a row for each decode, with what is counted beside where it is") {
  const Table table = eager_table(made_up_recording());
  REQUIRE(table.rows.size() == 2);
  for (const Row& row : table.rows) REQUIRE(row.cells.size() == table.columns.size());
  CHECK(std::get<std::string>(table.rows[0].cells[0]) == "64×32");
  CHECK(std::get<std::string>(table.rows[1].cells[0]) == "640×32, 5 frames");
  CHECK(std::get<double>(table.rows[0].cells[1]) == 1064);
  CHECK(std::get<double>(table.rows[0].cells[2]) == 1596);
  CHECK(std::get<double>(table.rows[0].cells[3]) == Approx(0.5));
  CHECK(std::holds_alternative<std::monostate>(table.rows[1].cells[2]));
  CHECK(std::holds_alternative<std::monostate>(table.rows[1].cells[3]));
  CHECK(std::get<double>(table.rows[0].cells[4]) == 600);
  CHECK(std::holds_alternative<std::monostate>(table.rows[1].cells[4]));
  CHECK(std::get<std::string>(table.rows[0].cells[6]) == "conv_in");
  CHECK_THAT(std::get<std::string>(table.rows[0].cells[7]), Catch::StartsWith("conv_in 0.6 KiB, weights"));
  CHECK_FALSE(table.rows[0].stands_out);
  CHECK(table.rows[1].stands_out);
}

TEST_CASE("eager: layers have a group for each decode, and gaps where a decode has none") {
  const EagerRecording recording = made_up_recording();
  const Table table = eager_layers_table(recording);
  REQUIRE(table.columns.size() == 2 + 2 * 4);
  REQUIRE(table.rows.size() == 3);
  for (const Row& row : table.rows) REQUIRE(row.cells.size() == table.columns.size());
  CHECK(table.columns[2].group == "64×32");
  CHECK(table.columns[9].group == variant_text(recording.decodes[1]));
  CHECK(std::get<double>(table.rows[0].cells[2]) == 600);
  CHECK(std::get<double>(table.rows[0].cells[3]) == 100);
  CHECK(std::get<double>(table.rows[0].cells[8]) == 1640);
  CHECK(std::get<double>(table.rows[1].cells[5]) == 0.5);
  CHECK(std::get<std::string>(table.rows[2].cells[0]) == "join");
  CHECK(std::holds_alternative<std::monostate>(table.rows[2].cells[2]));
  CHECK(std::get<double>(table.rows[2].cells[6]) == 20);
  CHECK(table.rows[0].stands_out);
  CHECK_FALSE(table.rows[1].stands_out);
}

TEST_CASE("eager: a chart of live bytes over time names the layer at the peak") {
  const Chart chart = eager_chart(made_up_recording().decodes[0]);
  REQUIRE(chart.series.size() == 1);
  CHECK(chart.series[0].y == std::vector<double>{400, 700, 1064, 500});
  REQUIRE(chart.notes.size() == 1);
  CHECK(chart.notes[0].x == 1.5);
  CHECK(chart.notes[0].text == "conv_in");
  REQUIRE(chart.guides.size() == 1);
  CHECK(chart.guides[0].at == 600);
  CHECK(eager_chart(made_up_recording().decodes[1]).guides.empty());
}

TEST_CASE("eager: what was held at the peaks, the largest first") {
  const Table table = eager_live_table(made_up_recording());
  REQUIRE(table.rows.size() == 2);
  CHECK(std::get<std::string>(table.rows[0].cells[0]) == "weights");
  CHECK(std::get<double>(table.rows[0].cells[2]) == 1040);
  CHECK(std::get<double>(table.rows[1].cells[1]) == 600);
}

TEST_CASE("eager: a recording is a document, and two of them are compared") {
  const Scratch scratch;
  EagerRecording slower = made_up_recording();
  slower.decodes[0].seconds = 20;
  write_file_whole(scratch / "a.json", profiler::test::to_json(made_up_recording()).dump());
  write_file_whole(scratch / "b.json", profiler::test::to_json(slower).dump());
  const DocumentPtr a = read_document(scratch / "a.json"), b = read_document(scratch / "b.json");
  REQUIRE(a->as<EagerRecording>() != nullptr);
  CHECK(*a->as<EagerRecording>() == made_up_recording());
  CHECK(std::string(kind_of(*a)) == "recorded decodes");
  CHECK(summary(*a) ==
        "recorded decodes, sdxl fp32, 2 decodes, peak 1.6 KiB at most, LibTorch 2.11.0, a processor");
  const std::vector<Table> tables = compare(*a, *b);
  CHECK_FALSE(tables.empty());
}

TEST_CASE("eager: a recording of the plan's request stands beside the plan") {
  const Scratch scratch;
  const Model model = test::small_decoder();
  const Request asked{"small", 64, 48, 1, 1, Dtype::fp32};
  const DocumentPtr plan = test::document_of(
      test::planned(model, asked, test::kAmple, planner::CostModel(model.graph)), "plan.json");
  const Request& request = plan->as<PlanDocument>()->plan.request;
  EagerRecording recording = made_up_recording();
  recording.model = request.model;
  recording.class_name = model.class_name;
  for (profiler::RecordedEagerDecode& decode : recording.decodes) {
    decode.width_pixels = request.width_pixels;
    decode.height_pixels = request.height_pixels;
    decode.frames = request.frames;
    decode.batch = request.batch;
  }
  recording.decodes[1].width_pixels += 8;  // another size
  write_file_whole(scratch / "eager.json", profiler::test::to_json(recording).dump());
  const DocumentPtr file = read_document(scratch / "eager.json");
  const PeakDecision decision = peak_cause(plan);
  const size_t alone = engines_table(plan, decision).rows.size();
  const Table table = engines_table(plan, decision, {file, plan});
  REQUIRE(table.rows.size() == alone + 1);
  CHECK(std::get<std::string>(table.rows[alone - 1].cells[0]) ==
        "recorded: " + variant_text(recording.decodes[0]));
  CHECK(std::get<double>(table.rows[alone - 1].cells[1]) == double(recording.decodes[0].peak_bytes));
  CHECK(std::get<std::string>(table.rows.back().cells[0]) == "this plan");
}

}  // namespace
}  // namespace headroom::reports
