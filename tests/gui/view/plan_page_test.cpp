#include "gui/view/plan_page.h"

#include <QLabel>
#include <QScrollBar>
#include <QTabWidget>
#include <QTableView>
#include <QTest>
#include <QTreeView>
#include <catch2/catch.hpp>

#include "decoder/base/short_name.h"
#include "gui/view/grid_view.h"
#include "gui/view/main_window.h"
#include "gui/view/table_view.h"
#include "tests/gui/support/shown.h"

namespace headroom::gui {
namespace {

using test::sample_files;
using test::wait_until;

using ShownPlan = test::ShownPage<PlanPage>;

TEST_CASE("plan page: in a window of 1280 pixels all columns of its table are in sight") {
  const std::string language = GENERATE("en", "zh_CN");
  CAPTURE(language);
  test::ShownWindow shown(language.c_str());
  MainWindow& window = shown.window;
  shown.workspace.open({sample_files().file("plan.json"), sample_files().file("stats.json")});
  wait_until([&] { return !window.busy(); });
  window.showPage("plan");
  wait_until([&] { return !window.busy(); });
  auto& table = *window.currentPage()->findChild<TableView*>("plan-passes");
  CHECK(table.model().columnCount() >= 9);  // its run's beside its own
  CHECK(table.view()->horizontalScrollBar()->maximum() == 0);
}

TEST_CASE("plan page: in a window of 1280 pixels names and numbers of tiles are whole") {
  test::ShownWindow shown;
  MainWindow& window = shown.window;
  const QString tour = HEADROOM_TEST_DATA "/../../docs/tour/";
  shown.workspace.open({tour + "plan.json", tour + "stats.json"});
  wait_until([&] { return !window.busy(); });
  window.showPage("plan");
  wait_until([&] { return !window.busy(); });
  auto& table = *window.currentPage()->findChild<TableView*>("plan-passes");
  for (const int column : {1, 2}) {
    for (int row = 0; row < table.model().rowCount(); ++row) {
      const QString text = table.model().index(row, column).data().toString();
      CAPTURE(text.toStdString());
      CHECK(table.view()->fontMetrics().horizontalAdvance(text) < table.view()->columnWidth(column));
    }
  }
}

TEST_CASE("plan page: names the parts of a run's measured peak") {
  const test::Scratch folder;
  RunStats stats = read_stats(sample_files().folder() / "stats.json");
  stats.pool_peak_bytes = int64_t{5} << 20;
  stats.outside_bytes = int64_t{1} << 20;
  stats.peak_bytes = stats.pool_peak_bytes + stats.outside_bytes;
  write_stats(folder / "parts.json", stats);
  ShownPlan shown({sample_files().file("plan.json"), QString::fromStdString(folder / "parts.json")});
  QStringList words;
  for (const QLabel* label : shown.page.findChildren<QLabel*>()) words << label->text();
  CHECK_THAT(words.join('\n').toStdString(),
             Catch::Contains("measured peak 6.0 MiB") &&
                 Catch::Contains("5.0 MiB of the decode and 1.0 MiB of other process memory"));
}

TEST_CASE("plan page: says whether the pixels are the untiled decode's, and by what") {
  const auto said = [](const QStringList& files) {
    ShownPlan shown(files);
    QStringList words;
    for (const QLabel* label : shown.page.findChildren<QLabel*>()) words << label->text();
    return words.join('\n').toStdString();
  };
  CHECK_THAT(said({sample_files().file("plan.json")}),
             Catch::Contains("Picture: the same as without tiles, by construction."));
  const test::Scratch folder;
  RunStats compared = read_stats(sample_files().folder() / "stats.json");
  compared.verification = Verification{kUntiledDecode, 1e-6, 2.5e-7, 4, 140};
  write_stats(folder / "compared.json", compared);
  CHECK_THAT(
      said({sample_files().file("plan.json"), QString::fromStdString((folder / "compared.json").string())}),
      Catch::Contains("Picture: compared with the untiled decode. Values differ by at most 2.5e-07"));
}

TEST_CASE("plan page: a pass that is chosen anywhere is shown everywhere") {
  ShownPlan shown({sample_files().file("plan.json")});
  const Plan& plan = sample_files().plan().plan;
  REQUIRE(plan.passes.size() > 4);
  // At first the one that decides the peak.
  CHECK(plan.passes[static_cast<size_t>(shown.page.pass())].predicted_peak_bytes ==
        plan.predicted_peak_bytes);
  auto& tree = *shown.page.findChild<QTreeView*>("passes");
  auto& table = *shown.page.findChild<TableView*>("plan-passes");
  auto& grid = shown.child<GridView>();
  const auto tiles_of = [&](size_t pass) {
    return static_cast<int>(plan.passes[pass].tiles.y.size() * plan.passes[pass].tiles.x.size());
  };
  tree.setCurrentIndex(tree.model()->index(3, 0));
  CHECK(shown.page.pass() == 3);
  CHECK(grid.tiles() == tiles_of(3));
  CHECK(table.view()->currentIndex().row() == 3);
  // A line below a pass is of it.
  tree.setCurrentIndex(tree.model()->index(1, 0, tree.model()->index(2, 0)));
  CHECK(shown.page.pass() == 2);
  CHECK(tree.currentIndex().parent().row() == 2);
  table.view()->setCurrentIndex(table.view()->model()->index(4, 0));
  CHECK(shown.page.pass() == 4);
  CHECK(tree.currentIndex().row() == 4);
  const auto* kept = shown.page.findChild<TableView*>("plan-kept");
  REQUIRE(kept != nullptr);
  CHECK(kept->table().rows.size() == plan.kept.size());
}

TEST_CASE("plan page: what differs in a plan that is open beside it") {
  ShownPlan shown({sample_files().ample_plan(), sample_files().file("plan.json")});
  const auto& tabs = shown.child<QTabWidget>();
  CHECK(tabs.count() == 3);
  shown.workspace.showBeside(shown.workspace.documents().front());
  wait_until([&] { return !shown.page.busy() && tabs.count() > 3; });
  CHECK(tabs.tabText(3) == "Memory");
  const auto* memory = qobject_cast<TableView*>(tabs.widget(3));
  CHECK(memory->table().columns[1].title == "plan.json");
  CHECK(memory->table().columns[2].title == "ample.json");
  CHECK(tabs.tabText(tabs.count() - 1) == "What else differs");
  shown.workspace.showBeside(nullptr);
  wait_until([&] { return !shown.page.busy() && tabs.count() == 3; });
}

TEST_CASE("plan page: measured columns where a run of the plan is open, and only then") {
  ShownPlan shown({sample_files().file("plan.json")});
  const auto& table = *shown.page.findChild<TableView*>("plan-passes");
  const size_t alone = table.table().columns.size();
  const test::Scratch scratch;
  RunStats other = test::run_as_predicted(sample_files().plan().plan);
  other.limit_bytes += 1;
  write_stats(scratch / "other.json", other);
  shown.workspace.open({QString::fromStdString(scratch / "other.json")});
  shown.rest();
  CHECK(table.table().columns.size() == alone);
  shown.page.choosePass(2);
  shown.workspace.open({sample_files().file("stats.json")});
  shown.rest();
  CHECK(table.table().columns.size() == alone + 4);
  CHECK(shown.page.pass() == 2);
  CHECK(shown.page.exports().size() == 3);
  shown.workspace.close(shown.workspace.chosen<reports::PlanDocument>());
  CHECK(shown.page.exports().empty());
}

TEST_CASE("pass tree: passes with what each reads, runs and keeps") {
  PassTree tree;
  tree.setPlan(test::document_of(reports::PlanDocument(sample_files().plan()), "plan.json"));
  const Plan& plan = sample_files().plan().plan;
  REQUIRE(tree.topLevelItemCount() == static_cast<int>(plan.passes.size()));
  for (int i = 0; i < tree.topLevelItemCount(); ++i) {
    const QTreeWidgetItem& pass = *tree.topLevelItem(i);
    const Pass& planned = plan.passes[static_cast<size_t>(i)];
    CHECK(pass.text(0).toStdString() == std::to_string(i) + "  " + short_name(planned.name));
    CHECK(pass.toolTip(0).toStdString() == std::to_string(i) + "  " + planned.name);
    // Weights, every step, and at least what is read.
    CHECK(pass.childCount() > static_cast<int>(planned.steps.size()) + 1);
    QStringList lines;
    for (int row = 0; row < pass.childCount(); ++row) lines << pass.child(row)->text(0);
    const auto kept_here = std::count_if(plan.kept.begin(), plan.kept.end(),
                                         [&](const KeptTensor& kept) { return kept.first_pass == i; });
    CHECK(lines.filter("keep ").size() == kept_here);
    CHECK_FALSE(lines.filter("read ").isEmpty());
  }
  tree.setPlan(nullptr);
  CHECK(tree.topLevelItemCount() == 0);
}

TEST_CASE("grid: tiles in the order in which they run, with the halo of what is computed for them") {
  const reports::PlanDocument& document = sample_files().plan();
  for (size_t number = 0; number < document.plan.passes.size(); ++number) {
    const Pass& pass = document.plan.passes[number];
    CAPTURE(number);
    const size_t columns = pass.tiles.x.size(), rows = pass.tiles.y.size();
    const GridTile last = grid_tile(document, number, columns * rows - 1);
    CHECK(last.row == rows - 1);
    CHECK(last.column == columns - 1);
    for (size_t tile = 0; tile < columns * rows; ++tile) {
      const GridTile found = grid_tile(document, number, tile);
      CHECK(found.read.y.contains(found.own.y));
      CHECK(found.read.x.contains(found.own.x));
      // Nothing outside the picture.
      CHECK(pass.tiles.y.front().begin <= found.read.y.begin);
      CHECK(found.read.y.end <= pass.tiles.y.back().end);
    }
    if (rows < 3) continue;
    const auto reads_beyond = std::any_of(pass.steps.begin(), pass.steps.end(),
                                          [](const Step& step) { return step.halo.before.y > 0; });
    const GridTile inside = grid_tile(document, number, columns);
    CHECK((inside.read.y.begin < inside.own.y.begin) == reads_beyond);
  }
}

}  // namespace
}  // namespace headroom::gui
