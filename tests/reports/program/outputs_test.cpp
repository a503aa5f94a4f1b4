#include <catch2/catch.hpp>
#include <functional>

#include "tests/reports/program/decode_files.h"
#include "tests/reports/render/page_reader.h"

namespace headroom::reports {
namespace {

using nlohmann::json;
using test::call;
using test::DecodeFiles;
using test::Ended;
using test::joined;
using test::page_of;
using test::PageReader;
using test::report_json;
using test::require_refused;
using test::Words;

TEST_CASE("report: the same tables as Markdown, CSV and JSON, and nothing else for stdout") {
  const DecodeFiles files;
  const json report = report_json(files.all());
  const Ended csv = call(run_report, joined(files.all(), {"-o", files.output("figures.csv")}));
  CHECK(csv.code == 0);
  size_t tables = 0, cells = 0;
  for (const json& section : report["sections"]) {
    for (const json& part : section["parts"]) {
      tables += part["tables"].size();
      for (const json& table : part["tables"]) {
        for (const json& row : table["rows"]) {
          CHECK(row.size() == table["columns"].size());
          for (const json& cell : row) cells += !cell.is_null();
        }
      }
    }
  }
  CHECK(csv.out == files.output("figures.csv") + ": 5 files, " + std::to_string(tables) + " tables\n");
  const std::string text = test::read_bytes(files.output("figures.csv"));
  CHECK(static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) == cells + 1);
  CHECK_THAT(text, Catch::Contains(
                       "\"Predicted against measured: Passes, predicted and measured\",0,peak measured," +
                       std::to_string(files.ran.passes[0].peak_bytes) + ",bytes\r\n"));

  REQUIRE(
      call(run_report, joined(files.all(), {"-o", files.output("report.md"), "--title", "A | title"})).code ==
      0);
  const std::string markdown = test::read_bytes(files.output("report.md"));
  CHECK(markdown.starts_with("# A \\| title\n"));
  CHECK_THAT(markdown, Catch::Contains("**Passes, predicted and measured**"));

  // Both at once: JSON alone on standard output.
  const Ended both = call(run_report, joined(files.all(), {"--json", "-o", files.output("report.html")}));
  CHECK(json::parse(both.out) == report);
  CHECK_THAT(both.err, Catch::StartsWith(files.output("report.html") + ": 5 files, "));
  const auto page = PageReader::read(test::read_bytes(files.output("report.html")));
  CHECK_THAT(both.err,
             Catch::Contains(" " + std::to_string(tables + page->all("svg").size()) + " figures\n"));
}

TEST_CASE("report: hostile names in files are text in every output") {
  // A folder's name is the model's, and may be anything but a slash.
  DecodeFiles files("64x48", "m\"><img src=x onerror=alert(1)>|`x`");
  const std::string script = "<script>alert(1)</script>", breakout = "\"><img src=x>|a`b`\nnext\r\n| row |";
  const auto change = [&](const std::string& file, const std::function<void(json&)>& edit) {
    json document = json::parse(test::read_bytes(file));
    edit(document);
    files.scratch.write(std::filesystem::path(file).filename(), document.dump());
  };
  const auto rename = [&](json& passes) {
    for (json& pass : passes) pass["name"] = script + breakout + pass["name"].get<std::string>();
  };
  change(files.plan, [&](json& plan) { rename(plan["passes"]); });
  change(files.stats, [&](json& stats) {
    rename(stats["passes"]);
    stats["device"] = script;
    stats["libraries"] = breakout;
    stats["verification"]["compared_with"] = breakout;
  });
  change(files.trace, [&](json& trace) {
    rename(trace["passes"]);
    trace["model"] = trace["device"] = script;
    for (json& layer : trace["layers"]) layer = breakout + layer.get<std::string>();
  });
  const std::string gpu_trace = files.gpu_trace();
  change(gpu_trace, [&](json& trace) {
    for (json& name : trace["activity_names"]) name = script + breakout + name.get<std::string>();
    for (json& source : trace["sources"]) source["name"] = source["detail"] = breakout + script;
  });
  const Words words = joined(files.all(), {gpu_trace});
  change(files.profile, [&](json& profile) {
    profile["model"] = breakout;
    for (json& layer : profile["layers"]) layer["name"] = script + layer["name"].get<std::string>();
    for (json& size : profile["sizes"]) {
      size["peak_layer"] = script;
      for (json& live : size["peak_live"]) live["name"] = breakout;
    }
  });
  const auto page = page_of(files, words);  // strict: markup from a name would not be read
  CHECK(page->all("img").empty());
  CHECK(page->all("script").size() == 1);
  CHECK(page->text().find(script) != std::string::npos);
  CHECK(test::table_named(test::tables_of(*page), "Passes, predicted and measured").rows.size() ==
        files.planned.plan.passes.size());

  for (const char* name : {"report.md", "figures.csv"}) {
    REQUIRE(call(run_report, joined(words, {"--quick", "-o", files.output(name)})).code == 0);
    const std::string text = test::read_bytes(files.output(name));
    CHECK(text.find("\n| row |") == std::string::npos);
    CHECK(text.find("\nnext") == std::string::npos);
    if (name == std::string("report.md")) {
      CHECK(text.find("<script") == std::string::npos);
      CHECK(text.find("<img") == std::string::npos);
    }
  }
  CHECK_NOTHROW(report_json(joined(words, {"--quick"})));
}

TEST_CASE("report: invalid UTF-8 is refused by the readers or replaced") {
  const DecodeFiles files;
  std::string bytes = test::read_bytes(files.stats);
  const size_t at = bytes.find("two cores");
  REQUIRE(at != std::string::npos);
  bytes[at] = '\xff';
  files.scratch.write("stats.json", bytes);
  const Ended ended = call(run_report, {files.stats, "-o", files.output("report.html")});
  if (ended.code == 0) {
    CHECK_NOTHROW(PageReader::read(test::read_bytes(files.output("report.html"))));
  } else {
    require_refused(ended, 2, {"stats.json"});
  }
  // The title comes from the command line, where any bytes are let in.
  REQUIRE(
      call(run_report, {files.profile, "--title", "a\xff\x1b[0m", "-o", files.output("report.html")}).code ==
      0);
  CHECK(PageReader::read(test::read_bytes(files.output("report.html")))->first("h1").own_text ==
        "a\xEF\xBF\xBD[0m");
  CHECK(call(run_report, {files.profile, "--title", "a\xff", "--json"}).code == 0);
}

}  // namespace
}  // namespace headroom::reports
