#include <catch2/catch.hpp>

#include "tests/reports/program/decode_files.h"

namespace headroom::reports {
namespace {

using nlohmann::json;
using test::call;
using test::DecodeFiles;
using test::Element;
using test::Ended;
using test::page_of;
using test::report_json;
using test::require_refused;
using test::sentences_of;
using test::Words;

TEST_CASE("report: --quick solves nothing, --limit draws another limit") {
  const DecodeFiles files;
  const json quick = report_json({files.plan, "--quick"}), whole = report_json({files.plan});
  CHECK(quick.dump().find("smallest limit") == std::string::npos);
  CHECK(whole.dump().find("smallest limit") != std::string::npos);
  const std::string words = sentences_of(report_json({files.plan, "--limit", "9MiB"}));
  CHECK_THAT(words, Catch::Contains("Within 9.0 MiB the largest picture"));
  const auto page = page_of(files, {files.plan, files.frontier, "--limit", "9MiB"});
  size_t drawn = 0;
  for (const Element* text : page->all("text"))
    drawn += text->own_text.find("limit 9.0 MiB") != std::string::npos;
  CHECK(drawn >= 3);  // memory, passes, resolution or time
}

TEST_CASE("report: the folder of the output must be there") {
  const DecodeFiles files;
  const std::string report = files.output("new/folder/report.md");
  require_refused(call(run_report, {files.stats, "-o", report}), 2, {"there is no folder", "mkdir -p"});
  CHECK_FALSE(std::filesystem::exists(files.output("new")));
}

TEST_CASE("report: the model of a plan from elsewhere is named") {
  const DecodeFiles files;
  std::filesystem::rename(files.model, files.output("moved"));
  require_refused(call(run_report, {files.plan, "--quick", "--json"}), 2,
                  {"plan.json", "its model", "--model DIR"});
  CHECK(call(run_report, {files.plan, "--quick", "--json", "--model", files.output("moved")}).code == 0);
}

TEST_CASE("report: what cannot be done is said in one line, and no file appears") {
  const DecodeFiles files;
  const std::vector<std::string> before = files.scratch.files();
  const auto refused = [&](const Words& words, const std::vector<std::string>& parts) {
    require_refused(call(run_report, words), 2, parts);
  };
  refused({}, {"files", "--help"});
  refused({files.stats}, {"--output", "--json"});
  refused({files.stats, "-o", files.output("report.pdf")}, {"report.pdf", ".html", ".md", ".csv"});
  refused({files.stats, "-o", files.stats + "/report.html"}, {"/report.html: its folder cannot be made"});
  refused({files.output("missing.json"), "-o", files.output("report.html")}, {"missing.json"});
  refused({files.stats, "-o", files.output("report.html"), "--limit", "much"}, {"--limit", "much"});
  refused({files.model + "/config.json", "-o", files.output("report.html")}, {"config.json", "schema"});
  json newer = json::parse(test::read_bytes(files.stats));
  newer["version"] = 99;
  refused({files.scratch.write("newer.json", newer.dump()).string(), "--json"}, {"newer.json", "version"});
  std::filesystem::remove(files.scratch / "newer.json");
  CHECK(files.scratch.files() == before);

  const Ended help = call(run_report, {"--help"});
  CHECK(help.code == 0);
  CHECK_THAT(help.out, Catch::Contains("Examples:") && Catch::Contains("--quick"));
  CHECK(call(run_report, {"--version"}).out == "headroom-report " HEADROOM_VERSION "\n");
}

}  // namespace
}  // namespace headroom::reports
