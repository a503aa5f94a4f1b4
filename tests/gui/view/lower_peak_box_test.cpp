// Ways to lower the peak are one list: the window, the report and the command line name the same ones.

#include "gui/view/lower_peak_box.h"

#include <QLabel>
#include <QPushButton>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "gui/view/table_view.h"
#include "planner/program/run.h"
#include "reports/program/run.h"
#include "tests/gui/sample_files.h"
#include "tests/support/program.h"

namespace headroom::gui {
namespace {

using nlohmann::json;
using test::sample_files;

/// The option, the bytes and the seconds of a plan with a lower peak, and whether it is about as fast.
struct NamedWay {
  std::string option;
  double bytes = 0, seconds = 0;
  bool about_as_fast = false;
  friend bool operator==(const NamedWay&, const NamedWay&) = default;
};

std::vector<NamedWay> ways_of_command_line(const std::string& plan) {
  const test::Ended ended = test::call(planner::run_plan, {"explain", plan, "--json"});
  REQUIRE(ended.code == 0);
  const json document = json::parse(ended.out);
  REQUIRE(document["not_looked_at"].empty());
  REQUIRE(document["not_looked_at_as_fast"].empty());
  std::vector<NamedWay> ways;
  for (const json& remedy : document["remedies"]) {
    const std::string option = remedy["change"];
    const double smallest = remedy["smallest_limit_bytes"];
    if (remedy.contains("about_as_fast")) {
      const json& fast = remedy["about_as_fast"];
      ways.push_back({option, fast["limit_bytes"], fast["seconds"], true});
      if (ways.back().bytes <= smallest) continue;
    }
    ways.push_back({option, smallest, remedy["seconds"], false});
  }
  return ways;
}

std::vector<NamedWay> ways_of_report(const std::string& plan) {
  const test::Ended ended = test::call(reports::run_report, {plan, "--json"});
  REQUIRE(ended.code == 0);
  const json document = json::parse(ended.out);
  std::vector<NamedWay> ways;
  for (const json& section : document["sections"]) {
    if (section["title"] != "What would lower the peak") continue;
    for (const json& row : section["parts"][0]["tables"][0]["rows"]) {
      const bool fast = row.size() > 6 && row[6].is_number();
      if (fast) ways.push_back({row[0], row[6], row[7], true});
      if (!fast || row[6] > row[2]) ways.push_back({row[0], row[2], row[5], false});
    }
  }
  return ways;
}

TEST_CASE("what would lower the peak: faster and slower are told in percent") {
  CHECK(RemedyWords::speed(56.69, 87.73) == "35 % faster");
  CHECK(RemedyWords::speed(105, 100) == "5.0 % slower");
  CHECK(RemedyWords::speed(100.1, 100) == "as fast");
}

TEST_CASE("remedies name the memory that they take") {
  const auto needs = [](const char* option, std::optional<int64_t> bytes) {
    return RemedyWords::needs({.option = option, .meaning = "", .needs_bytes = bytes}).toStdString();
  };
  CHECK(needs("--host-limit 2GiB", 3 << 20) == "takes 3.0 MiB in host memory");
  CHECK(needs("--scratch DIR", 3 << 20) == "takes 3.0 MiB in the scratch file");
  CHECK(needs("--dtype bf16", {}).empty());
}

TEST_CASE("what would lower the peak: window, report and command line name the same plans") {
  const std::string plan = sample_files().file("plan.json").toStdString();
  const std::vector<NamedWay> ways = ways_of_command_line(plan);
  REQUIRE(ways.size() >= 3);
  CHECK(ways == ways_of_report(plan));

  Workspace workspace;
  test::open(workspace, {sample_files().file("plan.json")});
  const reports::DocumentPtr document = workspace.chosen<reports::PlanDocument>();
  REQUIRE(document != nullptr);
  const double planned_seconds = document->as<reports::PlanDocument>()->plan.predicted_seconds;
  LowerPeakBox box(workspace);
  box.setPatience(60);  // however busy the machine is
  box.show();
  box.showPlan(workspace.questionOf(document), document);
  test::wait_until([&] { return !box.busy(); });
  auto& table = *box.findChild<TableView*>("lower-ways");
  const auto& button = *box.findChild<QPushButton*>("use-lower");
  REQUIRE(table.table().rows.size() == ways.size());
  for (size_t i = 0; i < ways.size(); ++i) {
    const NamedWay& way = ways[i];
    const std::vector<reports::Cell>& cells = table.table().rows[i].cells;
    const auto name = std::get<std::string>(cells[0]);
    CAPTURE(i, way.option, name);
    CHECK(std::get<double>(cells[1]) == way.bytes);
    CHECK(std::get<double>(cells[2]) == way.seconds);
    CHECK(std::get<std::string>(cells[3]) == RemedyWords::speed(way.seconds, planned_seconds).toStdString());
    CHECK((name.find("lowest peak") == std::string::npos) == way.about_as_fast);
    table.chooseRow(static_cast<int>(i));
    if (way.option != "--limit") CHECK_THAT(button.toolTip().toStdString(), Catch::Contains(way.option));
  }
}

TEST_CASE("what would lower the peak: what there was no time for is said") {
  Workspace workspace;
  test::open(workspace, {sample_files().file("plan.json")});
  const reports::DocumentPtr document = workspace.chosen<reports::PlanDocument>();
  REQUIRE(document != nullptr);
  LowerPeakBox box(workspace);
  box.setPatience(0);
  box.show();
  box.showPlan(workspace.questionOf(document), document);
  test::wait_until([&] { return !box.busy(); });
  CHECK_FALSE(box.findChild<QPushButton*>("use-lower")->isVisible());
  CHECK_FALSE(box.findChild<TableView*>("lower-ways")->isVisible());
  CHECK_THAT(box.findChild<QLabel*>("lower-peak-words")->text().toStdString(),
             Catch::Contains("A short search found nothing"));
}

/// A box that shows a plan, and what would lower its peak.
struct ShownWays {
  ShownWays() {
    test::open(workspace, {sample_files().file("plan.json")});
    REQUIRE(workspace.chosen<reports::PlanDocument>() != nullptr);
    box.setPatience(60);  // however busy the machine is
    box.show();
    show();
  }
  void show() {
    const reports::DocumentPtr document = workspace.chosen<reports::PlanDocument>();
    box.showPlan(workspace.questionOf(document), document);
    test::wait_until([&] { return !box.busy(); });
  }
  QPushButton& first() {
    auto* button = box.findChild<QPushButton*>("use-lower");
    REQUIRE(button != nullptr);
    return *button;
  }
  Workspace workspace;
  LowerPeakBox box{workspace};
};

TEST_CASE("what would lower the peak: a plan that cannot be written is said, and the one in use stays open") {
  ShownWays shown;
  PlanningQuestion question = shown.workspace.question();
  shown.workspace.use(shown.workspace.chosen<reports::PlanDocument>(), question, "in-use.plan.json");
  test::wait_until([&] { return !shown.workspace.busy(); });
  const reports::DocumentPtr in_use = shown.workspace.chosen<reports::PlanDocument>();
  REQUIRE(shown.workspace.isUsed(*in_use));
  std::filesystem::remove_all(in_use->file.parent_path());
  shown.show();
  shown.first().click();
  test::wait_until([&] { return !shown.box.busy(); });
  CHECK(shown.box.isEnabled());
  CHECK_THAT(shown.box.findChild<QLabel*>("lower-peak-words")->text().toStdString(),
             Catch::Contains("expected an existing folder"));
  CHECK(shown.workspace.chosen<reports::PlanDocument>() == in_use);
}

TEST_CASE("what would lower the peak: another plan ends the wait for the one that was asked for") {
  ShownWays shown;
  shown.first().click();
  CHECK_FALSE(shown.box.isEnabled());
  shown.box.showPlan({}, nullptr);
  CHECK(shown.box.isEnabled());
}

}  // namespace
}  // namespace headroom::gui
