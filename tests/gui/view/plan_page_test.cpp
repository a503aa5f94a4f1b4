#include "gui/view/plan_page.h"

#include <QElapsedTimer>
#include <QLabel>
#include <QScrollBar>
#include <QTabWidget>
#include <QTableView>
#include <QTest>
#include <QTreeView>
#include <catch2/catch.hpp>
#include <ctime>

#include "decoder/lowering/tiles.h"
#include "gui/view/grid_view.h"
#include "gui/view/kept_view.h"
#include "gui/view/main_window.h"
#include "gui/view/table_view.h"
#include "tests/gui/sample_files.h"

namespace headroom::gui {
namespace {

using test::sample_files;
using test::wait_until;

struct ShownPlan {
  explicit ShownPlan(const QStringList& files) {
    page.resize(1200, 800);
    page.show();
    workspace.open(files);
    wait_until([&] { return !workspace.busy(); });
  }
  template <typename Widget>
  Widget& child() {
    auto* found = page.findChild<Widget*>();
    REQUIRE(found != nullptr);
    return *found;
  }
  Workspace workspace;
  PlanPage page{workspace};
};

TEST_CASE("plan page: in a window of 1280 pixels all columns of its table are in sight") {
  Workspace workspace;
  WindowSettings settings;
  settings.language = GENERATE("en", "zh_CN");
  CAPTURE(settings.language.toStdString());
  MainWindow window(workspace, settings);
  window.resize(1280, 800);
  window.show();
  workspace.open({sample_files().file("plan.json"), sample_files().file("stats.json")});
  wait_until([&] { return !window.busy(); });
  window.showPage("plan");
  wait_until([&] { return !window.busy(); });
  auto& table = *window.currentPage()->findChild<TableView*>("plan-passes");
  CHECK(table.model().columnCount() >= 9);  // its run's beside its own
  CHECK(table.view()->horizontalScrollBar()->maximum() == 0);
}

TEST_CASE("plan page: says whether the pixels are the untiled decode's, and by what") {
  const auto said = [](const QStringList& files) {
    ShownPlan shown(files);
    QStringList words;
    for (const QLabel* label : shown.page.findChildren<QLabel*>()) words << label->text();
    return words.join('\n').toStdString();
  };
  CHECK_THAT(said({sample_files().file("plan.json")}),
             Catch::Contains("Pixels: those of the untiled decode, by the plan."));
  const test::Scratch folder;
  RunStats compared = read_stats(sample_files().folder() / "stats.json");
  compared.verification = Verification{kUntiledDecode, 1e-6, 2.5e-7, 4, 140};
  write_stats(folder / "compared.json", compared);
  CHECK_THAT(
      said({sample_files().file("plan.json"), QString::fromStdString((folder / "compared.json").string())}),
      Catch::Contains("Pixels: compared with the untiled decode; they differ by 2.5e-07"));
}

TEST_CASE("plan page: a pass that is chosen anywhere is shown everywhere") {
  ShownPlan shown({sample_files().file("plan.json")});
  const Plan& plan = sample_files().plan().plan;
  REQUIRE(plan.passes.size() > 4);
  // At first the one that decides the peak.
  CHECK(plan.passes[static_cast<size_t>(shown.page.pass())].predicted_peak_bytes ==
        plan.predicted_peak_bytes);
  auto& tree = *shown.page.findChild<QTreeView*>("passes");
  auto& table = shown.child<TableView>();
  auto& grid = shown.child<GridView>();
  auto& kept = shown.child<KeptView>();
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
  Q_EMIT kept.passChosen(1);
  CHECK(tree.currentIndex().row() == 1);
}

TEST_CASE("plan page: a kept tensor marks the passes that read it") {
  ShownPlan shown({sample_files().file("plan.json")});
  auto& kept = shown.child<KeptView>();
  auto& tree = *shown.page.findChild<QTreeView*>("passes");
  REQUIRE_FALSE(kept.spans().empty());
  QTest::keyClick(&kept, Qt::Key_Down);
  REQUIRE(kept.chosen() == 0);
  const std::vector<int32_t>& readers = kept.spans()[0].read_in;
  for (int row = 0; row < tree.model()->rowCount(); ++row) {
    CAPTURE(row);
    CHECK(tree.model()->index(row, 0).data().toString().startsWith("●") == contains(readers, row));
  }
  // A click into its row.
  const int line = kept.fontMetrics().height() * 5 / 4;
  QTest::mouseClick(&kept, Qt::LeftButton, {}, {2, line * 3 + line / 2});
  CHECK(kept.chosen() == 1);
}

TEST_CASE("plan page: what differs in a plan that is open beside it") {
  ShownPlan shown({sample_files().ample_plan(), sample_files().file("plan.json")});
  const auto& tabs = shown.child<QTabWidget>();
  CHECK(tabs.count() == 1);
  shown.workspace.showBeside(shown.workspace.documents().front());
  wait_until([&] { return !shown.page.busy() && tabs.count() > 1; });
  CHECK(tabs.tabText(1) == "Memory");
  const auto* memory = qobject_cast<TableView*>(tabs.widget(1));
  CHECK(memory->table().columns[1].title == "plan.json");
  CHECK(memory->table().columns[2].title == "ample.json");
  CHECK(tabs.tabText(tabs.count() - 1) == "What else differs");
  shown.workspace.showBeside(nullptr);
  wait_until([&] { return !shown.page.busy() && tabs.count() == 1; });
}

TEST_CASE("plan page: measured columns where a run of the plan is open, and only then") {
  ShownPlan shown({sample_files().file("plan.json")});
  const auto& table = shown.child<TableView>();
  const size_t alone = table.table().columns.size();
  const test::Scratch scratch;
  RunStats other = test::run_as_predicted(sample_files().plan().plan);
  other.limit_bytes += 1;
  write_stats(scratch / "other.json", other);
  shown.workspace.open({QString::fromStdString(scratch / "other.json")});
  wait_until([&] { return !shown.workspace.busy(); });
  CHECK(table.table().columns.size() == alone);
  shown.page.choosePass(2);
  shown.workspace.open({sample_files().file("stats.json")});
  wait_until([&] { return !shown.workspace.busy(); });
  CHECK(table.table().columns.size() == alone + 4);
  CHECK(shown.page.pass() == 2);
  CHECK(shown.page.exports().size() == 4);
  shown.workspace.close(shown.workspace.chosen<reports::PlanDocument>());
  CHECK(shown.page.exports().empty());
}

TEST_CASE("plan page: exports are written whole") {
  ShownPlan shown({sample_files().file("plan.json")});
  const test::Scratch scratch;
  for (const Export& kind : shown.page.exports()) {
    for (const QString& suffix : kind.suffixes) {
      const QString file = QString::fromStdString(scratch / "") + kind.name + "." + suffix;
      CAPTURE(file.toStdString());
      kind.write(file);
      const std::string bytes = test::read_bytes(file.toStdString());
      CHECK(bytes.size() > 100);
      if (suffix == "svg") CHECK_THAT(bytes, Catch::Contains("<svg"));
      if (suffix == "pdf") CHECK_THAT(bytes, Catch::StartsWith("%PDF"));
    }
  }
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

/// Seconds of this thread's work, whatever else the machine does.
double work_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

TEST_CASE("grid: ten thousand tiles are drawn about as fast as ten") {
  GridView grid;
  grid.resize(800, 600);
  grid.show();
  const auto seconds_with = [&](int64_t tile_height, int64_t tile_width) {
    reports::PlanDocument document = sample_files().plan();
    Pass& pass = document.plan.passes.back();
    pass.tiles.y = cut(pass.tiles.y.back().end, tile_height);
    pass.tiles.x = cut(pass.tiles.x.back().end, tile_width);
    grid.setPass(test::document_of(document, "plan.json"), document.plan.passes.size() - 1);
    const double begin = work_seconds();
    for (int i = 0; i < 30; ++i) {
      grid.setTile(i * grid.tiles() / 30);
      grid.grab();
    }
    return (work_seconds() - begin) / 30;
  };
  const double few = seconds_with(64, 128);
  CHECK(grid.tiles() < 20);
  const double many = seconds_with(1, 2);
  CHECK(grid.tiles() > 10'000);
  CHECK(many < 4 * few + 0.02);

  grid.setTile(0);
  grid.play(true);
  wait_until([&] { return grid.tile() > 100; });
  grid.play(false);
  const int stopped = grid.tile();
  QElapsedTimer still;
  for (still.start(); still.elapsed() < 150;) QCoreApplication::processEvents(QEventLoop::AllEvents, 10);
  CHECK(grid.tile() == stopped);
}

}  // namespace
}  // namespace headroom::gui
