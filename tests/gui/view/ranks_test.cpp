#include <qcustomplot.h>

#include <QImage>
#include <QTabWidget>
#include <QTreeWidget>
#include <catch2/catch.hpp>

#include "gui/view/chart_view.h"
#include "gui/view/colours.h"
#include "gui/view/documents_dock.h"
#include "gui/view/main_window.h"
#include "gui/view/message_bar.h"
#include "gui/view/plan_page.h"
#include "gui/view/run_form.h"
#include "gui/view/screenshots.h"
#include "gui/view/table_view.h"
#include "tests/gui/support/shown.h"
#include "tests/reports/figures/rank_files.h"

namespace headroom::gui {
namespace {

using reports::test::RankFiles;
using test::open;
using test::sample_files;
using test::wait_until;

/// Shared by several tests, because planning takes a moment.
const RankFiles& three_ranks() {
  static const RankFiles files;
  return files;
}

QString path(const RankFiles& files, const char* name) {
  return QString::fromStdString(files.file(name));
}

QStringList all_of(const RankFiles& files) {
  return {path(files, "plan.json"), path(files, "stats.json"), path(files, "trace.json")};
}

TEST_CASE("workspace: each rank's part of a file is a document behind it, and goes with it") {
  Workspace workspace;
  const RankFiles& files = three_ranks();
  open(workspace, {sample_files().file("plan.json"), path(files, "plan.json"), path(files, "trace.json")});
  REQUIRE(workspace.documents().size() == 9);
  const reports::DocumentPtr plan = workspace.documents()[1];
  CHECK(workspace.chosen<Plans>() == plan);
  for (size_t rank = 0; rank < 3; ++rank) CHECK(workspace.documents()[2 + rank] == plan->ranks[rank]);
  // The pages have rank 0 to show.
  CHECK(workspace.chosen<reports::PlanDocument>() == workspace.documents()[2]);
  CHECK(workspace.chosen<RecordedTrace>() == workspace.documents()[6]);
  CHECK(workspace.question().options.limit_bytes == files.plan.plans[0].limit_bytes);
  CHECK(Workspace::titleOf(*workspace.documents()[4]) == "plan.json, rank 2");
  CHECK(Workspace::titleOf(*plan) == "plan.json");

  open(workspace, {path(files, "plan.json")});  // again: in its place
  REQUIRE(workspace.documents().size() == 9);
  CHECK(workspace.documents()[1] != plan);
  CHECK(workspace.documents()[1]->as<Plans>() != nullptr);
  CHECK(workspace.documents()[5]->as<reports::TracesDocument>() != nullptr);

  workspace.close(workspace.documents()[3]);  // one rank's part
  REQUIRE(workspace.documents().size() == 5);
  CHECK(workspace.chosen<Plans>() == nullptr);
  CHECK(workspace.chosen<reports::PlanDocument>() == workspace.documents()[0]);
}

TEST_CASE("documents: a file of several ranks has its parts below it") {
  Workspace workspace;
  DocumentsDock dock(workspace);
  open(workspace, {path(three_ranks(), "plan.json"), sample_files().file("plan.json")});
  auto* tree = dock.findChild<QTreeWidget*>();
  wait_until([&] { return tree->topLevelItemCount() == 2; });
  const QTreeWidgetItem* kind = tree->topLevelItem(1);
  CHECK(kind->text(0) == "Plans of ranks");
  CHECK(tree->topLevelItem(0)->childCount() == 1);
  REQUIRE(kind->childCount() == 1);
  QTreeWidgetItem* file = kind->child(0);
  REQUIRE(file->childCount() == 3);
  CHECK(file->isExpanded());
  CHECK(file->child(2)->text(0).contains("Rank 2"));
  Q_EMIT tree->itemClicked(file->child(2), 0);
  CHECK(workspace.chosen<reports::PlanDocument>()->rank == 2u);
  CHECK(workspace.chosen<Plans>() != nullptr);
}

TEST_CASE("ranks: the plan of a rank has a table of all ranks, with what a run measured") {
  Workspace workspace;
  PlanPage page(workspace);
  page.show();
  const auto& tabs = *page.findChild<QTabWidget*>();
  const auto ranks = [&] { return qobject_cast<TableView*>(tabs.widget(3)); };
  const auto rest = [&] { wait_until([&] { return !workspace.busy() && !page.busy(); }); };
  open(workspace, {sample_files().file("plan.json")});
  CHECK(tabs.count() == 3);
  CHECK(tabs.isTabVisible(2));
  open(workspace, {path(three_ranks(), "plan.json")});
  rest();
  REQUIRE(ranks() != nullptr);
  CHECK(tabs.count() == 4);
  CHECK_FALSE(tabs.isTabVisible(2));  // one rank's plan has no remedies
  CHECK(ranks()->table().rows.size() == 3);
  CHECK(page.exports().size() == 4);
  const size_t planned = ranks()->table().columns.size();
  open(workspace, {path(three_ranks(), "stats.json"), path(three_ranks(), "trace.json")});
  rest();
  REQUIRE(tabs.count() == 4);
  CHECK(ranks()->table().columns.size() > planned);
  // Without a plan there are no ranks to list, and another decode's ranks are not among them.
  const RankFiles many(18, 2);
  open(workspace, {path(many, "plan.json")});
  rest();
  CHECK(ranks()->table().rows.size() == 18);
  workspace.choose(workspace.documents().front());
  rest();
  CHECK(tabs.count() == 3);
}

TEST_CASE("ranks: what ranks waited is drawn at the foot of their charts") {
  reports::Chart chart{"waits",
                       {"time", reports::Unit::seconds},
                       {"memory", reports::Unit::bytes},
                       {{"weights", reports::Mark::area, reports::ColourRole::weights, {0, 1}, {100, 100}}},
                       {},
                       {},
                       {}};
  ChartView view;
  view.resize(600, 300);
  view.setChart(chart);
  const auto coloured = [&] {
    const QImage image = view.plot()->toPixmap(600, 300).toImage();
    const QColor wanted = colour_of(reports::ColourRole::limit, view.palette());
    int pixels = 0;
    const QRect area = view.plot()->axisRect()->rect();
    for (int y = area.top(); y <= area.bottom(); ++y) {
      for (int x = area.left(); x <= area.right(); ++x) pixels += image.pixelColor(x, y) == wanted;
    }
    return pixels / double(area.width());
  };
  CHECK(coloured() == 0);
  chart.strip = reports::Strip{"waiting for other ranks", reports::ColourRole::limit, {0, 0.5, 1}, {1, 0}};
  view.setChart(chart);
  CHECK(coloured() == Approx(4.5).margin(0.5));  // half of the width, nine high
}

TEST_CASE("ranks: no page fails on any rank's part, with or without rows") {
  const RankFiles few(3, 2);
  test::ShownWindow shown;
  MainWindow& window = shown.window;
  Workspace& workspace = shown.workspace;
  open(workspace, all_of(few));
  wait_until_idle(window);
  CHECK(window.currentPage()->key() == "timeline");
  for (const reports::DocumentPtr& document : std::vector(workspace.documents())) {
    // Rank 0 is shown for the file as a whole, and rank 1 is like it.
    if (document->rank && *document->rank < 2) continue;
    workspace.choose(document);
    for (const Page* page : window.pages()) {
      window.showPage(page->key());
      wait_until_idle(window);
    }
  }
  CHECK(window.messages().messages().isEmpty());
  CHECK(workspace.chosen<RecordedTrace>()->rank == 2u);
}

TEST_CASE(
    "ranks: statistics of rank 0 stand beside rank 0's plan alone, and no rank's plan is run by itself") {
  Workspace workspace;
  PlanPage page(workspace);
  RunForm form(workspace);
  page.show();
  open(workspace, all_of(three_ranks()));
  const reports::DocumentPtr plan = workspace.chosen<Plans>();
  const auto& ranks = plan->ranks;
  REQUIRE(ranks[0]->as<reports::PlanDocument>()->plan.passes.size() ==
          ranks[2]->as<reports::PlanDocument>()->plan.passes.size());
  const auto beside = [&](size_t rank) {
    workspace.choose(ranks[rank]);
    return page.findChild<TableView*>("plan-passes")->table().title.find("measured") != std::string::npos;
  };
  CHECK(beside(0));
  CHECK_FALSE(beside(1));
  CHECK_FALSE(beside(2));
  CHECK(form.request().plan.isEmpty());
}

}  // namespace
}  // namespace headroom::gui
