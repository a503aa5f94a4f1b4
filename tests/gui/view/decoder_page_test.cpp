#include "gui/view/decoder_page.h"

#include <QLabel>
#include <QPushButton>
#include <QSignalSpy>
#include <QTableView>
#include <QTest>
#include <catch2/catch.hpp>

#include "gui/view/decoder_canvas.h"
#include "gui/view/main_window.h"
#include "gui/view/plain_text.h"
#include "gui/view/plan_page.h"
#include "gui/view/table_view.h"
#include "tests/gui/support/shown.h"

namespace headroom::gui {
namespace {

using test::sample_files;

using ShownDecoder = test::ShownPage<DecoderPage>;

QPushButton* button(QWidget& page, const QString& text) {
  for (QPushButton* one : page.findChildren<QPushButton*>()) {
    if (one->text().remove(QLatin1Char('&')) == text) return one;
  }
  return nullptr;
}

TEST_CASE("decoder page: opens at the peak and says what holds it") {
  ShownDecoder shown({sample_files().file("plan.json")});
  REQUIRE(shown.page.picture() != nullptr);
  const reports::DecoderPicture& picture = *shown.page.picture();
  CHECK(shown.page.canvas()->pass() == static_cast<int>(picture.peak_pass));
  bool said = false;
  const QString peak = QString::fromStdString(
      reports::format(reports::Unit::bytes, double(sample_files().plan().plan.predicted_peak_bytes)));
  for (const QLabel* label : shown.page.findChildren<QLabel*>())
    said |= label->text().contains(peak) && label->text().contains("The largest parts");
  CHECK(said);
  auto* live = shown.page.findChild<TableView*>("decoder-live");
  REQUIRE(live != nullptr);
  CHECK(live->table().rows.size() == picture.passes[picture.peak_pass].live.size());
  CHECK(shown.page.exports().size() == 2);
}

TEST_CASE("decoder page: nothing overlaps, and all fits the width") {
  ShownDecoder shown({sample_files().file("plan.json")});
  const reports::DecoderPicture& picture = *shown.page.picture();
  for (const int width : {700, 1280, 1900}) {
    shown.page.resize(width, 820);
    QCoreApplication::processEvents();
    const DecoderCanvas& canvas = *shown.page.canvas();
    for (size_t i = 0; i < picture.nodes.size(); ++i) {
      const QRect here = canvas.rectOfNode(static_cast<int>(i));
      CHECK(canvas.rectOfPass(static_cast<int>(picture.nodes[i].pass)).contains(here));
      for (size_t j = 0; j < i; ++j) {
        CAPTURE(width, i, j);
        CHECK_FALSE(canvas.rectOfNode(static_cast<int>(j)).adjusted(1, 1, -1, -1).intersects(here));
      }
    }
  }
}

TEST_CASE("decoder page: a click chooses a pass or an operation, arrow keys go on") {
  ShownDecoder shown({sample_files().file("plan.json")});
  DecoderCanvas& canvas = *shown.page.canvas();
  const reports::DecoderPicture& picture = *shown.page.picture();
  const auto first = static_cast<int>(picture.passes[1].first_node);
  QTest::mouseClick(&canvas, Qt::LeftButton, {}, canvas.rectOfNode(first).center());
  CHECK(canvas.pass() == 1);
  CHECK(canvas.node() == first);
  // The full name stands where there is room for it.
  const Graph& graph = sample_files().plan().model.graph;
  CHECK(canvas.describeNode(first).contains(
      QString::fromStdString(graph.tensor(picture.nodes[static_cast<size_t>(first)].tensor).name)));
  QTest::keyClick(&canvas, Qt::Key_Right);
  CHECK(canvas.node() == first + 1);
  QTest::keyClick(&canvas, Qt::Key_Down);
  CHECK(canvas.pass() == 2);
  CHECK(canvas.node() == -1);
  const int before = canvas.rectOfPass(0).height();
  QTest::keyClick(&canvas, Qt::Key_Plus);
  QTest::keyClick(&canvas, Qt::Key_Plus);
  CHECK(canvas.rectOfPass(0).height() > before);
}

TEST_CASE("decoder page: what a run of the plan measured stands beside it") {
  ShownDecoder shown({sample_files().file("plan.json"), sample_files().file("stats.json")});
  for (const reports::DrawnPass& pass : shown.page.picture()->passes) CHECK(pass.measured.has_value());
  CHECK(shown.page.canvas()->describePass(0).contains("measured"));
}

TEST_CASE("decoder page: leads to the pass's tile and to the layer") {
  test::ShownWindow shown;
  MainWindow& window = shown.window;
  Workspace& workspace = shown.workspace;
  workspace.open({sample_files().file("plan.json")});
  headroom::test::wait_until([&] { return !workspace.busy() && !window.busy(); });
  window.showPage("decoder");
  auto* page = qobject_cast<DecoderPage*>(window.currentPage());
  REQUIRE(page != nullptr);
  page->canvas()->choose(2, -1);
  auto* to_plan = button(*page, "Its tiles on the page Plan");
  auto* to_layers = button(*page, "Its figures on the page Layers");
  REQUIRE(to_plan != nullptr);
  REQUIRE(to_layers != nullptr);
  CHECK_FALSE(to_layers->isEnabled());  // no profile is open
  QTest::mouseClick(to_plan, Qt::LeftButton);
  CHECK(window.currentPage()->key() == "plan");
  CHECK(qobject_cast<PlanPage*>(window.currentPage())->pass() == 2);
  workspace.open({sample_files().file("profile.json")});
  headroom::test::wait_until([&] { return !workspace.busy() && !window.busy(); });
  window.showPage("decoder");
  page->canvas()->choose(2, static_cast<int>(page->picture()->passes[2].first_node));
  CHECK(to_layers->isEnabled());
  QTest::mouseClick(to_layers, Qt::LeftButton);
  CHECK(window.currentPage()->key() == "layers");
}

TEST_CASE("decoder page: the bar of a kept tensor says what it is") {
  ShownDecoder shown({sample_files().file("plan.json")});
  const DecoderCanvas& canvas = *shown.page.canvas();
  const Graph& graph = sample_files().plan().model.graph;
  REQUIRE_FALSE(shown.page.picture()->kept.empty());
  for (const reports::DrawnKept& kept : shown.page.picture()->kept) {
    const double x = canvas.keptLeft() + canvas.laneWidth() * (double(kept.lane) + 0.5);
    const QPointF first(x, canvas.rectOfPass(static_cast<int>(kept.first_pass)).center().y());
    CHECK(canvas.textAt(first).startsWith(QString::fromStdString(graph.tensor(kept.tensor).name)));
  }
}

TEST_CASE("decoder page: of another plan nothing is shown before it is drawn") {
  ShownDecoder shown({sample_files().file("plan.json"), HEADROOM_TEST_DATA "/../../docs/tour/plan.json"});
  REQUIRE(shown.page.picture() != nullptr);
  const auto& layer = *button(shown.page, "Its figures on the page Layers");
  // The first one's graph, to which nothing of the second's picture belongs.
  shown.workspace.choose(shown.workspace.documents().front());
  CHECK(shown.page.busy());
  CHECK(shown.page.picture() == nullptr);
  CHECK(shown.page.canvas()->pass() == -1);
  CHECK(shown.page.exports().empty());
  CHECK_FALSE(layer.isEnabled());
  bool said = false;
  for (const QLabel* label : shown.page.findChildren<QLabel*>())
    said |= label->isVisible() && label->text().startsWith("Drawing");
  CHECK(said);
  shown.rest();
  REQUIRE(shown.page.picture() != nullptr);
  CHECK(shown.page.picture()->passes.size() == sample_files().plan().plan.passes.size());
  CHECK(shown.page.canvas()->pass() == static_cast<int>(shown.page.picture()->peak_pass));
}

TEST_CASE("names that do not fit lose their first parts, not letters") {
  const QFontMetricsF metrics{QFont()};
  const QString name = "up3.res1.conv1";
  const auto width = [&](const QString& text) { return metrics.horizontalAdvance(text) + 1; };
  CHECK(fitting_name(name, metrics, width(name)) == name);
  CHECK(fitting_name(name, metrics, width(name) - 3) == "res1.conv1");
  CHECK(fitting_name(name, metrics, width("conv1")) == "conv1");
  CHECK(fitting_name(name, metrics, 3).isEmpty());
  CHECK(fitting_name("two words. here", metrics, width("words. here")).isEmpty());
  CHECK(shortened_name(name, metrics, width(name)) == name);
  CHECK(shortened_name(name, metrics, width(name) - 3) == "…res1.conv1");
  CHECK(shortened_name(name, metrics, 3) == "…conv1");
}

}  // namespace
}  // namespace headroom::gui
