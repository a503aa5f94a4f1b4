#include <catch2/catch.hpp>
#include <set>

#include "tests/reports/figures/rank_files.h"
#include "tests/reports/program/decode_files.h"

namespace headroom::reports {
namespace {

using nlohmann::json;
using test::call;
using test::DecodeFiles;
using test::Element;
using test::Ended;
using test::PageReader;
using test::PageTable;
using test::RankFiles;
using test::report_json;
using test::sections_of;
using test::sentences_of;
using test::Words;

std::unique_ptr<Element> page_of_ranks(const RankFiles& files, const Words& words) {
  const std::string file = files.file("report.html");
  const Ended ended = call(run_report, test::joined(words, {"--quick", "-o", file}));
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  return PageReader::read(test::read_bytes(file));
}

/// The captions of all drawings, in their order.
std::vector<std::string> drawings_of(const Element& page) {
  std::vector<std::string> captions;
  for (const Element* caption : page.all("figcaption")) captions.push_back(caption->own_text);
  return captions;
}

std::vector<std::string> headings_of(const Element& page) {
  std::vector<std::string> headings;
  for (const Element* head : page.all("h3")) headings.push_back(head->own_text);
  return headings;
}

TEST_CASE("report: ranks of one decode stand side by side, each once") {
  const RankFiles files;
  const std::string plan = files.file("plan.json"), stats = files.file("stats.json"),
                    trace = files.file("trace.json");
  const auto page = page_of_ranks(files, {plan, stats, trace});
  CHECK(sections_of(*page) ==
        std::vector<std::string>{"Summary", "Ranks", "Predicted against measured", "Files"});
  CHECK(drawings_of(*page) ==
        std::vector<std::string>{"Rank 0, rows 0 to 4, predicted", "Rank 1, rows 4 to 7, predicted",
                                 "Rank 2, rows 7 to 10, predicted", "Rank 0, rows 0 to 4, measured",
                                 "Rank 1, rows 4 to 7, measured", "Rank 2, rows 7 to 10, measured"});
  const std::vector<PageTable> tables = test::tables_of(*page);
  const PageTable& ranks = test::table_named(tables, "Ranks");
  REQUIRE(ranks.rows.size() == 3);
  CHECK(ranks.value(2, "measured", 0) == double(files.stats.ranks[2].peak_bytes));
  CHECK(ranks.value(2, "measured", 1) == double(files.stats.ranks[2].sent_bytes));
  CHECK(ranks.text(1, "rows") == "4 to 7");
  // The other figures of the statistics belong to rank 0, and the page says so.
  CHECK(test::table_named(tables, "Runs").text(0, "run") == stats + " (rank 0)");
  CHECK(headings_of(*page) == std::vector<std::string>{plan + ", " + stats + ", " + trace,
                                                       stats + " (rank 0)", "Memory over time, predicted",
                                                       "Memory over time, measured", stats + " (rank 0)"});
}

TEST_CASE("report: sentences say what ranks were planned to do, did, and waited for") {
  const RankFiles files;
  const std::string plan = files.file("plan.json"), stats = files.file("stats.json"),
                    trace = files.file("trace.json");
  const std::string all = sentences_of(report_json({plan, stats, trace, "--quick"}));
  CAPTURE(all);
  CHECK_THAT(all, Catch::Contains("3 ranks share ") && Catch::Contains(" of its limit of ") &&
                      Catch::Contains("over a link of 953.7 MiB/s and 100.0 µs"));
  CHECK_THAT(all,
             Catch::Contains("; all were done in 4.00 s and sent ") && Catch::Contains(", as predicted."));
  CHECK_THAT(all, Catch::Contains("rank 2 waited longest for others: ") &&
                      Catch::Contains(", 33 % of its time.") && !Catch::Contains("not drawn"));

  RankFiles more;
  more.stats.ranks[1].sent_bytes += 1 << 20;
  more.traces[0].rank->calls_left_out = 7;
  more.write();
  const std::string changed =
      sentences_of(report_json({more.file("stats.json"), more.file("trace.json"), "--quick"}));
  CAPTURE(changed);
  CHECK_THAT(changed, Catch::Contains(" were predicted.") &&
                          Catch::Contains("; 7 calls beyond those recorded one by one are not drawn."));
}

TEST_CASE("report: ranks without rows, and more ranks than are drawn") {
  const RankFiles files(18, 2);
  const auto page = page_of_ranks(files, {files.file("plan.json"), files.file("trace.json")});
  CHECK(test::table_named(test::tables_of(*page), "Ranks").rows.size() == 18);
  const std::vector<std::string> drawings = drawings_of(*page);
  REQUIRE(drawings.size() == 32);
  CHECK(drawings[2] == "Rank 2, no rows, predicted");
  CHECK(drawings[31] == "Rank 15, no rows, measured");
  CHECK_THAT(page->text(), Catch::Contains("The first 16 of 18 ranks are drawn."));
}

TEST_CASE("report: files of one rank and of several stand in one report") {
  const RankFiles ranked, other(2);
  const DecodeFiles one;
  const auto page = page_of_ranks(
      ranked, {one.plan, ranked.file("plan.json"), one.stats, ranked.file("stats.json"), one.trace,
               ranked.file("trace.json"), other.file("trace.json"), other.file("plan.json")});
  const std::vector<std::string> headings = headings_of(*page);
  const std::string ours = one.plan + ", " + one.stats + ", " + one.trace;
  CHECK(std::count(headings.begin(), headings.end(), ours) >= 3);
  const std::vector<std::string> drawings = drawings_of(*page);
  CHECK(std::set<std::string>(drawings.begin(), drawings.end()).count("Rank 1, rows 5 to 10, measured") == 1);
  CHECK(std::count(drawings.begin(), drawings.end(), "Predicted by " + one.plan) == 1);
  CHECK(std::count(headings.begin(), headings.end(),
                   "Memory over time, measured: " + other.file("trace.json")) == 1);
  CHECK(std::count(headings.begin(), headings.end(),
                   ranked.file("plan.json") + " and " + other.file("plan.json")) == 1);
  CHECK(std::count(headings.begin(), headings.end(),
                   ranked.file("trace.json") + " and " + other.file("trace.json")) == 1);
}

}  // namespace
}  // namespace headroom::reports
