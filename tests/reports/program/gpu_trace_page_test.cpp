#include <catch2/catch.hpp>

#include "tests/reports/program/decode_files.h"

namespace headroom::reports {
namespace {

using nlohmann::json;
using test::DecodeFiles;
using test::Element;
using test::page_of;
using test::PageTable;
using test::report_json;
using test::sections_of;

TEST_CASE("report: a GPU's trace says what was on the GPU, what it did and who watched") {
  const DecodeFiles files;
  const std::string trace = files.gpu_trace();
  const auto passes = double(files.planned.plan.passes.size());
  const auto page = page_of(files, {files.plan, trace, "--quick"});
  CHECK(sections_of(*page) == std::vector<std::string>{"Memory over time", "Summary", "What decided the peak",
                                                       "Passes", "What the GPU did",
                                                       "Kept tensors and the passes that use them", "Files"});
  CHECK(sections_of(*page_of(files, {trace})) ==
        std::vector<std::string>{"Memory over time", "What decided the peak", "What the GPU did", "Files"});
  // The measured drawing has the GPU's kinds, and the driver's count as a line over them.
  const auto drawings = page->first("main").all("section")[0]->all("svg");
  REQUIRE(drawings.size() == 2);
  const auto has_class = [](const Element& svg, const std::string& name) {
    size_t count = 0;
    for (const Element* path : svg.all("path"))
      count += (" " + path->attribute("class") + " ").find(" " + name + " ") != std::string::npos;
    return count;
  };
  for (const char* kind : {"fill-slack", "fill-libraries", "fill-context", "line-driver"}) {
    CAPTURE(kind);
    CHECK(has_class(*drawings[0], kind) == 0);
    CHECK(has_class(*drawings[1], kind) == 1);
  }
  CHECK(has_class(*drawings[1], "fill-outside") == 0);
  CHECK_THAT(drawings[1]->first("desc").own_text,
             Catch::Contains("counted by the driver, at most 411.0 MiB."));

  const std::vector<PageTable> tables = test::tables_of(*page);
  const PageTable& live = test::table_named(tables, "On the device at the measured peak");
  double sum = 0;
  for (size_t row = 0; row < live.rows.size(); ++row) sum += live.value(row, "memory");
  CHECK(sum == double(test::kGpuContextBytes + test::kGpuReservedBytes + test::kGpuLibraryBytes));
  const PageTable& ran = test::table_named(tables, "What the GPU ran");
  REQUIRE(ran.rows.size() == 4);
  CHECK(ran.text(0, "name") == "multiply<128, 64>");
  CHECK(ran.value(0, "time") == Approx(0.125 * passes));
  CHECK(ran.value(1, "rate") == Approx(double(64 << 20) / 0.125));
  CHECK(test::table_named(tables, "Time of the GPU by passes").rows.size() == size_t(passes));
  CHECK(test::table_named(tables, "Streams of the GPU").rows.size() == 4);

  // Sentences name these facts too.
  const json report = report_json({files.plan, trace, "--quick"});
  const std::string words = report.dump();
  CHECK_THAT(words, Catch::Contains("CUPTI memory: not captured: held by another profiler."));
  CHECK_THAT(words, Catch::Contains("5 records were lost"));
  CHECK_THAT(words, Catch::Contains("1 activity belongs to no known step"));
  CHECK_THAT(words, Catch::Contains("3.0 MiB more"));

  // Two runs: each has its own part, under its files.
  const json two = report_json({trace, files.trace, files.stats, "--quick"});
  for (const json& section : two["sections"]) {
    if (section["title"] != "What the GPU did") continue;
    REQUIRE(section["parts"].size() == 1);
    CHECK(section["parts"][0]["heading"].get<std::string>().find(trace) != std::string::npos);
  }
}

}  // namespace
}  // namespace headroom::reports
