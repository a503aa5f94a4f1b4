#include "gui/view/compare_page.h"

#include <qcustomplot.h>

#include <QComboBox>
#include <QLabel>
#include <QToolButton>
#include <catch2/catch.hpp>

#include "gui/view/chart_view.h"
#include "gui/view/table_view.h"
#include "planner/search/make_plan.h"
#include "reports/figures/comparison.h"
#include "tests/gui/sample_files.h"

namespace headroom::gui {
namespace {

using test::sample_files;
using test::wait_until;

struct ShownComparison {
  ShownComparison() {
    page.resize(1000, 800);
    page.show();
  }
  void open(const QStringList& files) {
    workspace.open(files);
    wait_until([&] { return !workspace.busy() && !page.busy(); });
  }
  Workspace workspace;
  ComparePage page{workspace};
};

TEST_CASE("compare page: asks for a second file of the kind") {
  ShownComparison shown;
  const auto* words = shown.page.findChild<QLabel*>("words");
  CHECK(words->isVisible());
  shown.open({sample_files().file("stats.json"), sample_files().file("plan.json")});
  CHECK(words->isVisible());
  CHECK(shown.page.exports().empty());
}

TEST_CASE("compare page: of two runs what differs the most comes first") {
  const test::Scratch scratch;
  RunStats other = test::run_as_predicted(sample_files().plan().plan);
  REQUIRE(other.passes.size() > 3);
  other.passes[2].seconds *= 3;
  other.passes[1].seconds *= 1.5;
  write_stats(scratch / "other.json", other);
  ShownComparison shown;
  shown.open({sample_files().file("stats.json"), QString::fromStdString(scratch / "other.json")});
  CHECK_FALSE(shown.page.findChild<QLabel*>("words")->isVisible());
  REQUIRE_FALSE(shown.page.tables().empty());
  const auto times = std::find_if(
      shown.page.tables().begin(), shown.page.tables().end(),
      [](const TableView* view) { return view->table().columns[1].unit == reports::Unit::seconds; });
  REQUIRE(times != shown.page.tables().end());
  const std::vector<reports::Row>& rows = (*times)->table().rows;
  REQUIRE(rows.size() >= 2);
  CHECK_THAT(std::get<std::string>(rows[0].cells[0]), Catch::Contains(other.passes[2].name));
  CHECK(std::get<double>(rows[0].cells[1]) * 3 == Approx(std::get<double>(rows[0].cells[2])));
  CHECK_THAT(std::get<std::string>(rows[1].cells[0]), Catch::Contains(other.passes[1].name));
  CHECK(shown.page.exports().size() == shown.page.tables().size());

  // The other way round the ratio is the inverse.
  shown.page.findChild<QToolButton*>()->click();
  wait_until([&] { return !shown.page.busy(); });
  const std::vector<reports::Row>& swapped = (*times)->table().rows;
  CHECK(std::get<double>(swapped[0].cells[1]) == Approx(3 * std::get<double>(swapped[0].cells[2])));
}

TEST_CASE("compare page: plans have their timelines over one range of time") {
  const auto& [plan, model, found] = sample_files().plan();
  const test::Scratch scratch;
  write_plan(
      scratch / "ample.json",
      planner::make_plan(
          {model, plan.request, {.limit_bytes = plan.limit_bytes * 4}, planner::CostModel(model.graph)})
          .value(),
      model.graph);
  ShownComparison shown;
  shown.open({sample_files().file("profile.json"), sample_files().file("plan.json"),
              QString::fromStdString(scratch / "ample.json")});
  CHECK(shown.page.findChild<QComboBox*>("first")->currentText().startsWith("plan.json"));
  CHECK(shown.page.findChild<QComboBox*>("second")->currentText().startsWith("ample.json"));
  const QList<ChartView*> charts = shown.page.findChildren<ChartView*>();
  REQUIRE(charts.size() == 2);
  CHECK(charts[0]->isVisible());
  CHECK(charts[0]->visibleRange() == charts[1]->visibleRange());
  CHECK(charts[0]->plot()->yAxis->range().upper == charts[1]->plot()->yAxis->range().upper);
  CHECK(charts[0]->visibleRange().second >= plan.predicted_seconds * (1 - 1e-9));
  charts[1]->setVisibleRange(plan.predicted_seconds / 4, plan.predicted_seconds / 2);
  CHECK(charts[0]->visibleRange().first == Approx(plan.predicted_seconds / 4));
  CHECK(charts[0]->visibleRange().second == Approx(plan.predicted_seconds / 2));
  CHECK(shown.page.exports().size() == shown.page.tables().size() + 2);

  // A file that is closed leaves nothing to compare.
  shown.workspace.close(shown.workspace.chosen<reports::PlanDocument>());
  CHECK(shown.page.findChild<QLabel*>("words")->isVisible());
}

}  // namespace
}  // namespace headroom::gui
