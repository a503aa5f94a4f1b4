#include "gui/view/chart_view.h"

#include <qcustomplot.h>

#include <QApplication>
#include <QSignalSpy>
#include <QTest>
#include <catch2/catch.hpp>
#include <cmath>

#include "gui/view/chart_series.h"
#include "gui/view/colours.h"
#include "gui/view/page.h"
#include "reports/figures/timeline.h"
#include "tests/gui/sample_files.h"

namespace headroom::gui {
namespace {

using test::wait_until;

reports::Chart all_marks() {
  reports::Chart chart;
  chart.title = "All of it";
  chart.x = {"time", reports::Unit::seconds};
  chart.y = {"memory", reports::Unit::bytes};
  const std::vector<double> x{0, 1, 2, 3, 4};
  chart.series = {
      {"weights", reports::Mark::area, reports::ColourRole::weights, x, {100e6, 100e6, 100e6, 100e6, 100e6}},
      {"kept", reports::Mark::area, reports::ColourRole::kept, x, {50e6, 150e6, 100e6, 250e6, 0}},
      {"predicted",
       reports::Mark::line,
       reports::ColourRole::measured,
       x,
       {300e6, 310e6, 320e6, 330e6, 340e6}},
      {"held", reports::Mark::steps, reports::ColourRole::workspace, x, {200e6, 220e6, 210e6, 380e6, 200e6}},
      {"runs", reports::Mark::points, reports::ColourRole::other, {0.5, 3.5}, {360e6, 370e6}}};
  chart.guides = {{"limit 400 MB", 400e6, false, reports::ColourRole::limit}};
  chart.notes = {{3, 350e6, "peak"}};
  chart.spans = {{0, 1, "first"}, {1, 3, "second"}, {3, 4, "third"}};
  return chart;
}

void show(ChartView& view, const QSize& size = {800, 400}) {
  view.resize(size);
  view.show();
  QApplication::processEvents();
  view.plot()->replot();
}

QImage drawn(ChartView& view) {
  return view.plot()->toPixmap().toImage();
}

int pixels_of(const QImage& image, const QColor& colour) {
  int count = 0;
  for (int y = 0; y < image.height(); ++y) {
    for (int x = 0; x < image.width(); ++x) count += image.pixelColor(x, y).rgb() == colour.rgb() ? 1 : 0;
  }
  return count;
}

TEST_CASE("chart view: every mark is drawn in its ink, on light and dark palettes") {
  for (const bool dark : {false, true}) {
    QApplication::setPalette(dark ? QPalette(QColor("#202326")) : QPalette());
    ChartView view;
    view.setChart(all_marks());
    show(view);
    const QImage image = drawn(view);
    const QPalette palette = view.palette();
    for (const reports::ColourRole colour_role :
         {reports::ColourRole::weights, reports::ColourRole::kept, reports::ColourRole::measured,
          reports::ColourRole::workspace, reports::ColourRole::other}) {
      CAPTURE(dark, int(colour_role));
      CHECK(pixels_of(image, colour_of(colour_role, palette)) > 40);
    }
    CHECK(pixels_of(image, colour_of(reports::ColourRole::limit, palette)) > 8);
    CHECK(pixels_of(image, palette.color(QPalette::Base)) > 1000);
  }
  QApplication::setPalette(QPalette());
}

TEST_CASE("chart view: the cursor leaves out a label that it would cross") {
  ChartView view;
  view.setChart(all_marks());
  show(view);
  const QImage before = drawn(view);
  view.setCursor(2);  // the middle of a band, with its name
  const QImage after = drawn(view);
  const QRect area = view.plot()->axisRect()->rect();
  const auto at = static_cast<int>(view.plot()->xAxis->coordToPixel(2));
  const auto changed = [&](int y) { return before.copy(at - 1, y, 3, 1) != after.copy(at - 1, y, 3, 1); };
  for (int y = area.top() + 3; y < area.top() + 10; ++y) CHECK_FALSE(changed(y));
  CHECK(changed(area.center().y()));
  CHECK(changed(area.bottom() - 2));
}

TEST_CASE("chart view: a handle's line and grip leave out a label in the middle") {
  ChartView view;
  reports::Chart chart = all_marks();
  chart.notes = {{1.8, 190e6, "a label of some length"}};
  view.setChart(chart);
  show(view);
  const QImage before = drawn(view);
  const QCPAxis &x = *view.plot()->xAxis, &y = *view.plot()->yAxis;
  // A label begins to the right of its point and above it.
  const QRect label(static_cast<int>(x.coordToPixel(1.8)) + 8, static_cast<int>(y.coordToPixel(190e6)) - 14,
                    80, 8);
  REQUIRE(label.contains(static_cast<int>(x.coordToPixel(2)) + 2, label.center().y()));
  view.setHandle(y.pixelToCoord(label.center().y()), false, {});
  const QImage after = drawn(view);
  CHECK(before.copy(label) == after.copy(label));
  CHECK(before != after);
}

TEST_CASE("chart view: bytes are marked at powers of two, pixels at squares") {
  const auto labels = [](const reports::ChartAxis& axis, double begin, double end) {
    QVector<double> ticks;
    QVector<QString> texts;
    ticker_of(axis)->generate({begin, end}, QLocale::c(), 'g', 6, ticks, nullptr, &texts);
    return texts;
  };
  const QVector<QString> bytes = labels({"", reports::Unit::bytes}, 0, 600.0 * 1024 * 1024);
  CHECK(bytes.contains("128 MiB"));
  CHECK(bytes.contains("512 MiB"));
  CHECK(labels({"", reports::Unit::pixels, true}, 65536, 67108864).contains("1024×1024"));
}

/// A million moments, flat but for one that lasts a ten-millionth of the whole.
reports::Chart spike(double begin, double end, size_t columns) {
  constexpr double kAt = 0.61803;
  reports::Chart chart;
  chart.x = {"time", reports::Unit::seconds};
  chart.y = {"memory", reports::Unit::bytes};
  reports::Series series{"tiles", reports::Mark::area, reports::ColourRole::tile, {}, {}};
  for (size_t i = 0; i <= columns; ++i) {
    const double left = begin + (end - begin) * double(i) / double(columns),
                 right = begin + (end - begin) * double(i + 1) / double(columns);
    series.x.push_back(left);
    series.y.push_back(left <= kAt && kAt < right ? 100e6 : 10e6);
  }
  chart.series = {series};
  return chart;
}

TEST_CASE("chart view: a peak that is narrower than a pixel stays visible at any width") {
  for (const int width : {333, 640, 801, 1279, 1920}) {
    ChartView view;
    view.resize(width, 300);
    view.setSource(0, 1, spike);
    show(view, {width, 300});
    const QImage image = drawn(view);
    const auto at = static_cast<int>(view.plot()->xAxis->coordToPixel(0.61803)),
               middle = static_cast<int>(view.plot()->yAxis->coordToPixel(60e6));
    bool found = false;
    for (int x = at - 3; x <= at + 3; ++x)
      found = found || image.pixelColor(x, middle) != view.palette().color(QPalette::Base);
    CAPTURE(width);
    CHECK(found);
  }
}

TEST_CASE("chart view: the source is asked for what is visible, once for each drawing") {
  ChartView view;
  std::vector<std::pair<double, double>> asked;
  size_t most_columns = 0;
  show(view);
  view.setSource(0, 10, [&](double begin, double end, size_t columns) {
    asked.push_back({begin, end});
    most_columns = std::max(most_columns, columns);
    return spike(begin, end, columns);
  });
  view.plot()->replot();
  CHECK(most_columns <= size_t(view.plot()->width() * view.plot()->devicePixelRatioF()));
  CHECK(most_columns > 500);
  asked.clear();
  QSignalSpy moved(&view, &ChartView::rangeChanged);
  view.setVisibleRange(2, 3);
  view.setVisibleRange(4, 5);
  view.plot()->replot();
  CHECK(moved.count() == 2);
  REQUIRE(asked.size() == 1);
  CHECK(asked[0] == std::pair(4.0, 5.0));
  view.setVisibleRange(9.5, 12);  // not beyond the end
  CHECK(view.visibleRange().second == 10);
  CHECK(view.visibleRange().first == Approx(7.5));
  view.setVisibleRange(-5, 50);
  CHECK(view.visibleRange() == std::pair(0.0, 10.0));
  view.setVisibleRange(2, 4);
  view.setChart(spike(0, 10, 100), true);
  CHECK(view.visibleRange().first == Approx(2));
  view.setChart(spike(0, 10, 100));
  CHECK(view.visibleRange().first == 0);
}

TEST_CASE("chart view: the keyboard moves the cursor, zooms and pans") {
  ChartView view;
  view.setChart(all_marks());
  show(view);
  QSignalSpy moved(&view, &ChartView::cursorMoved);
  QTest::keyClick(&view, Qt::Key_Home);
  CHECK(*view.cursor() == 0);
  QTest::keyClick(&view, Qt::Key_Right);
  CHECK(*view.cursor() == 1);
  QTest::keyClick(&view, Qt::Key_Right, Qt::ShiftModifier);
  CHECK(*view.cursor() == 4);
  QTest::keyClick(&view, Qt::Key_Left);
  CHECK(*view.cursor() == 3);
  CHECK(moved.count() == 4);
  QTest::keyClick(&view, Qt::Key_Plus);
  CHECK(view.visibleRange().second - view.visibleRange().first == Approx(2.8));
  QTest::keyClick(&view, Qt::Key_PageUp);
  CHECK(view.visibleRange().first == 0);
  QTest::keyClick(&view, Qt::Key_0);
  CHECK(view.visibleRange() == std::pair(0.0, 4.0));
}

TEST_CASE("chart view: a handle is dragged with the mouse and moved with the keyboard") {
  ChartView view;
  view.setChart(all_marks());
  show(view);
  view.setHandle(200e6, false, "limit");
  view.plot()->replot();
  QSignalSpy moved(&view, &ChartView::handleMoved), released(&view, &ChartView::handleReleased);
  const QRect area = view.plot()->axisRect()->rect();
  const QPoint from(area.left() + 40, int(std::lround(view.plot()->yAxis->coordToPixel(200e6))));
  const QPoint to(area.left() + 90, int(std::lround(view.plot()->yAxis->coordToPixel(100e6))));
  QTest::mousePress(view.plot(), Qt::LeftButton, {}, from);
  QTest::mouseMove(view.plot(), to);
  QTest::mouseRelease(view.plot(), Qt::LeftButton, {}, to);
  CHECK(moved.count() >= 1);
  CHECK(released.count() == 1);
  CHECK(view.handle() == Approx(100e6).margin(2e6));
  CHECK(view.visibleRange() == std::pair(0.0, 4.0));  // the plot was not panned
  QTest::keyClick(&view, Qt::Key_Up, Qt::ControlModifier);
  CHECK(view.handle() > 100e6);
  CHECK(released.count() == 2);
  view.clearHandle();
  QTest::mousePress(view.plot(), Qt::LeftButton, {}, to);
  QTest::mouseRelease(view.plot(), Qt::LeftButton, {}, to);
  CHECK(released.count() == 2);
}

TEST_CASE("chart view: a click holds the cursor, another lets it go") {
  ChartView view;
  view.setChart(all_marks());
  view.setPinnable(true);
  show(view);
  QSignalSpy moved(&view, &ChartView::cursorMoved);
  const QPoint middle = view.plot()->axisRect()->rect().center();
  QTest::mouseMove(view.plot(), middle);
  QTest::mouseClick(view.plot(), Qt::LeftButton, {}, middle);
  CHECK(view.pinned());
  const auto count = moved.count();
  CHECK(count >= 1);
  QTest::mouseMove(view.plot(), middle + QPoint(50, 0));
  CHECK(moved.count() == count);
  QTest::mouseClick(view.plot(), Qt::LeftButton, {}, middle);
  CHECK_FALSE(view.pinned());
}

TEST_CASE("chart view: is exported as a picture, whole or not at all") {
  ChartView view;
  view.setChart(all_marks());
  show(view);
  const test::Scratch folder;
  const Export what = painting_of(view, "chart");
  CHECK(what.suffix == "png");
  what.write(QString::fromStdString((folder / "a.png").string()));
  CHECK(QImage(QString::fromStdString((folder / "a.png").string())).width() == view.width());
  CHECK_THROWS_AS(what.write(QString::fromStdString((folder / "not_there" / "a.png").string())), InputError);
}

TEST_CASE("chart view: a chart that was drawn before it had its width has the columns of this width") {
  ChartView view;
  size_t asked = 0;
  view.setSource(0, 10, [&](double begin, double end, size_t columns) {
    asked = columns;
    reports::Chart chart;
    chart.series = {{"tiles", reports::Mark::area, reports::ColourRole::tile, {begin, end}, {1, 1}}};
    return chart;
  });
  CHECK(asked < 200);
  view.resize(900, 300);
  view.show();
  view.plot()->replot();
  CHECK(asked > 700);
  // Layouts may give the plot its width later than the view.
  for (const int width : {100, 898}) {
    view.plot()->resize(width, 298);
    view.plot()->replot();
    CAPTURE(width, asked);
    CHECK(asked <= size_t(width));
    CHECK(asked + 200 > size_t(width));
  }
}

}  // namespace
}  // namespace headroom::gui
