#include <catch2/catch.hpp>

#include "tests/reports/program/decode_files.h"

namespace headroom::reports {
namespace {

using nlohmann::json;
using test::call;
using test::DecodeFiles;
using test::Element;
using test::Ended;
using test::joined;
using test::page_of;
using test::PageTable;
using test::report_json;
using test::Scratch;
using test::sentences_of;
using test::Words;

TEST_CASE("report: runs are set beside the plans that they belong to, in whatever order the files come") {
  const DecodeFiles files;
  const auto runs_of = [&](const Words& words) {
    std::vector<std::string> headings;
    const json report = report_json(joined(words, {"--quick"}));
    for (const json& section : report["sections"]) {
      if (section["title"] != "Predicted against measured") continue;
      for (const json& part : section["parts"]) headings.push_back(part["heading"]);
    }
    return headings;
  };
  CHECK(runs_of({files.trace, files.stats, files.plan}) == std::vector<std::string>{"", ""});

  // A run of another plan stands alone.
  RunStats foreign = files.ran;
  foreign.limit_bytes += 1;
  const std::string other = files.output("other.json");
  write_stats(other, foreign);
  CHECK(runs_of({files.plan, other, files.stats}) ==
        std::vector<std::string>{"", files.plan + ", " + files.stats, other});

  // A second run of one plan: its passes beside the same predictions, the plan's own figures once.
  const std::string again = files.output("again.json");
  write_stats(again, files.ran);
  const json report = report_json({files.plan, files.stats, again, "--quick"});
  for (const json& section : report["sections"]) {
    if (section["title"] == "Kept tensors and the passes that use them") CHECK(section["parts"].size() == 1);
    if (section["title"] == "Predicted against measured") CHECK(section["parts"].size() == 3);
    if (section["title"] == "Comparison")
      CHECK(section["parts"][0]["sentences"] == std::vector<std::string>{"They do not differ."});
  }
}

TEST_CASE("report: files of one kind are compared, the first with each other one") {
  const DecodeFiles files;
  RunStats slower = files.ran;
  slower.passes[0].seconds *= 8;
  const std::string other = files.output("slower.json"), third = files.output("third.json");
  write_stats(other, slower);
  write_stats(third, slower);
  const auto page = page_of(files, {files.stats, other, third});
  std::vector<std::string> headings;
  for (const Element* head : page->all("h3")) headings.push_back(head->own_text);
  CHECK(std::count(headings.begin(), headings.end(), files.stats + " and " + other) == 1);
  CHECK(std::count(headings.begin(), headings.end(), files.stats + " and " + third) == 1);
  bool found = false;
  for (const PageTable& table : test::tables_of(*page)) {
    if (table.heads.back() != "ratio" || table.caption.find("Time") != 0) continue;
    found = true;
    CHECK(table.value(0, "ratio") == Approx(8));
  }
  CHECK(found);
}

TEST_CASE("report: a queue's decodes one by one") {
  const Scratch scratch;
  RunStats stats;
  stats.limit_bytes = 64 << 20;
  stats.predicted_peak_bytes = 60 << 20;
  stats.peak_bytes = 50 << 20;
  stats.predicted_seconds = stats.seconds = 3;
  stats.scratch_written_bytes = 12345;
  stats.queue = QueueStats{{{"large", 0, 0, 0, 2, 50 << 20, 49 << 20, 70 << 20, 1 << 20},
                            {"small", 1, 3, 1, 1, 20 << 20, 19 << 20, 71 << 20, 0}},
                           20 << 20,
                           1,
                           4096,
                           8192};
  write_stats(scratch / "queue.json", stats);
  const Ended ended = call(run_report, {(scratch / "queue.json").string(), "--json"});
  REQUIRE(ended.code == 0);
  const json report = json::parse(ended.out);
  CHECK_THAT(sentences_of(report),
             Catch::Contains("2 decodes ran in one process; the pool grew by 4.0 KiB after the first one"));
  const json& parts = report["sections"][1]["parts"];
  CHECK(parts[0]["tables"][1]["title"] == "Scratch files");
  CHECK(parts[0]["tables"][1]["rows"][0][1] == 12345);
  const json& decodes = parts[1]["tables"][0];
  CHECK(decodes["title"] == "Decodes of the queue");
  CHECK(decodes["rows"] == json{{"large", 0, 50 << 20, 49 << 20, 70 << 20, 1 << 20, 2},
                                {"small", 3, 20 << 20, 19 << 20, 71 << 20, 0, 1}});
  CHECK(decodes["stand_out"] == json{0});
}

}  // namespace
}  // namespace headroom::reports
