#include "reports/figures/eager.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "decoder/base/os/whole_file.h"
#include "profiler/eager/recording_file.h"
#include "reports/figures/comparison.h"
#include "tests/decoder/files/scratch.h"
#include "tests/profiler/eager/recording_json.h"
#include "tests/reports/figures/printed_figures.h"
#include "tests/reports/figures/sample_documents.h"
#include "tests/reports/figures/sample_recording.h"

namespace headroom::reports {
namespace {

using profiler::EagerRecording;
using test::made_up_recording;
using test::Scratch;

TEST_CASE("eager: tables of decodes, layers and what was held at the peaks, and a chart of live bytes") {
  const EagerRecording recording = made_up_recording();
  test::check_expected(
      "figures/eager.txt",
      test::printed({eager_table(recording), eager_layers_table(recording), eager_live_table(recording)}) +
          test::printed(eager_chart(recording.decodes[0])));
  CHECK(eager_chart(recording.decodes[1]).guides.empty());
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
  CHECK(summary(*a) == "sdxl fp32, 2 decodes, peak 1.6 KiB at most, LibTorch 2.11.0, a processor");
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
