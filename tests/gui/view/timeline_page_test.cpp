#include "gui/view/timeline_page.h"

#include <qcustomplot.h>

#include <QApplication>
#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>
#include <catch2/catch.hpp>

#include "gui/view/chart_view.h"
#include "gui/view/table_view.h"
#include "gui/view/timeline_side.h"
#include "tests/gui/support/shown.h"

namespace headroom::gui {
namespace {

using test::sample_files;

using ShownTimeline = test::ShownPage<TimelinePage>;

double total_of(const reports::Table& table) {
  double total = 0;
  for (const reports::Row& row : table.rows) total += std::get<double>(row.cells[2]);
  return total;
}

TEST_CASE("timeline page: a plan alone, a trace alone, both, none") {
  ShownTimeline shown;
  TimelinePage& page = shown.page;
  Workspace& workspace = shown.workspace;
  CHECK(page.exports().empty());
  shown.open({sample_files().file("plan.json")});
  CHECK(page.side(0).chart()->isVisible());
  CHECK_FALSE(page.side(1).chart()->isVisible());
  CHECK(page.exports().size() == 2);
  shown.open({sample_files().file("trace.json")});
  CHECK(page.side(1).chart()->isVisible());
  CHECK(page.exports().size() == 4);
  workspace.close(workspace.chosen<reports::PlanDocument>());
  CHECK_FALSE(page.side(0).chart()->isVisible());
  workspace.close(workspace.chosen<RecordedTrace>());
  CHECK_FALSE(page.side(1).chart()->isVisible());
  CHECK(page.exports().empty());
}

TEST_CASE("timeline page: opens at the peak, with all that made it") {
  ShownTimeline shown(sample_files().all());
  TimelinePage& page = shown.page;
  for (size_t i = 0; i < 2; ++i) {
    TimelineSide& side = page.side(i);
    const reports::Timeline& timeline = *side.timeline();
    REQUIRE(side.moment());
    CHECK(*side.moment() == timeline.peak());
    CHECK(total_of(side.table()->table()) == Approx(double(timeline.total_bytes(timeline.peak()))));
    CHECK(side.caption().contains(QString::fromStdString(
        reports::format(reports::Unit::bytes, double(timeline.total_bytes(timeline.peak()))))));
    CHECK_FALSE(side.chart()->chart().guides.empty());  // the limit
    CHECK_FALSE(side.chart()->chart().notes.empty());   // the peak
  }
  CHECK(page.side(0).timeline()->total_bytes(page.side(0).timeline()->peak()) ==
        sample_files().plan().plan.predicted_peak_bytes);
}

TEST_CASE("timeline page: a plan and its run stand on common axes of time and bytes") {
  ShownTimeline shown(sample_files().all());
  TimelinePage& page = shown.page;
  CHECK(page.findChild<QLabel*>("apart")->isHidden());
  ChartView &predicted = *page.side(0).chart(), &measured = *page.side(1).chart();
  CHECK(predicted.visibleRange() == measured.visibleRange());
  CHECK(predicted.visibleRange().second ==
        Approx(std::max(page.side(0).timeline()->end_seconds(), page.side(1).timeline()->end_seconds())));
  CHECK(predicted.plot()->yAxis->range().upper == measured.plot()->yAxis->range().upper);
  const reports::Span first = page.side(0).timeline()->passes()[1],
                      last = page.side(0).timeline()->passes()[4];
  predicted.setVisibleRange(first.begin, last.end);
  CHECK(measured.visibleRange() == predicted.visibleRange());
  const reports::Span other = page.side(1).timeline()->passes()[5];
  measured.setVisibleRange(other.begin, other.end);
  CHECK(predicted.visibleRange() == measured.visibleRange());
}

TEST_CASE("timeline page: another plan stands beside the chosen one on common axes, in place of the run") {
  ShownTimeline shown(sample_files().all());
  TimelinePage& page = shown.page;
  Workspace& workspace = shown.workspace;
  const auto* box = page.findChild<QComboBox*>("beside");
  CHECK_FALSE(box->isVisible());
  shown.open({sample_files().ample_plan()});
  CHECK(box->isVisible());
  const reports::DocumentPtr ample = workspace.chosen<reports::PlanDocument>(),
                             plan = workspace.documents().front();
  Q_EMIT page.findChild<QComboBox*>("beside")->activated(1);
  shown.rest();
  CHECK(workspace.beside() == plan);
  CHECK(box->currentText() == "plan.json");
  CHECK(page.side(0).document() == ample);
  CHECK(page.side(1).document() == plan);
  CHECK(page.side(1).caption().startsWith("plan.json, live at"));
  CHECK(page.side(0).chart()->visibleRange() == page.side(1).chart()->visibleRange());
  CHECK(page.side(0).chart()->plot()->yAxis->range().upper ==
        page.side(1).chart()->plot()->yAxis->range().upper);
  // Choosing the one beside it swaps the two.
  workspace.choose(plan);
  shown.rest();
  CHECK(page.side(0).document() == plan);
  CHECK(workspace.beside() == ample);
  // One that is closed gives way to the run.
  workspace.close(ample);
  shown.rest();
  CHECK(workspace.beside() == nullptr);
  CHECK(page.side(1).document() == workspace.chosen<RecordedTrace>());
  CHECK(page.side(1).caption().startsWith("Measured, live at"));
  // The last but one.
  shown.open({sample_files().ample_plan()});
  workspace.showBeside(plan);
  workspace.close(workspace.chosen<reports::PlanDocument>());
  CHECK(workspace.chosen<reports::PlanDocument>() == plan);
  CHECK(workspace.beside() == nullptr);
}

TEST_CASE("timeline page: says above both that a plan and a run are of different decodes") {
  const auto& [plan, model, found] = sample_files().plan();
  Request wider = plan.request;
  wider.width_pixels = 512;
  const planner::CostModel costs(model.graph);
  const test::Scratch scratch;
  const reports::PlanDocument other = test::planned(model, wider, 8 * plan.limit_bytes, costs);
  write_plan(scratch / "wider.json", other.plan, other.model.graph);
  ShownTimeline shown({sample_files().file("trace.json"), QString::fromStdString(scratch / "wider.json")});
  TimelinePage& page = shown.page;
  const auto* apart = page.findChild<QLabel*>("apart");
  REQUIRE(apart != nullptr);
  CHECK(apart->isVisible());
  CHECK_THAT(apart->text().toStdString(),
             Catch::Contains("512x48") && Catch::Contains("64x48") && Catch::Contains("different decodes"));
  CHECK(page.side(0).chart()->visibleRange() == page.side(1).chart()->visibleRange());
  CHECK(page.side(0).chart()->plot()->yAxis->range().upper ==
        page.side(1).chart()->plot()->yAxis->range().upper);
  // With the plan that the run was made by there is nothing to say.
  shown.open({sample_files().file("plan.json")});
  CHECK(apart->isHidden());
}

TEST_CASE("timeline page: moments of other plans correspond by their share of the whole") {
  const auto lasting = [](double end, std::vector<reports::Span> passes) {
    return reports::Timeline({{0, end / 2}, {{}, {}}, end, 0, std::move(passes)});
  };
  const reports::Timeline a = lasting(10, {{1, 4, "a"}, {4, 9, "b"}}),
                          b = lasting(100, {{10, 20, "a"}, {30, 80, "b"}}), c = lasting(20, {{0, 20, "all"}});
  CHECK(seconds_in(b, a, 2.5) == Approx(15));
  CHECK(seconds_in(b, a, 9) == Approx(80));
  CHECK(seconds_in(b, a, 10) == Approx(100));
  CHECK(seconds_in(b, a, -3) == Approx(0));
  CHECK(seconds_in(a, b, 55) == Approx(6.5));
  CHECK(seconds_in(c, a, 2.5) == Approx(5));
}

TEST_CASE("timeline page: the cursor shows the live set there and at the same moment of the other timeline") {
  ShownTimeline shown(sample_files().all());
  TimelinePage& page = shown.page;
  TimelineSide &predicted = page.side(0), &measured = page.side(1);
  const reports::Span pass = predicted.timeline()->passes()[2], other = measured.timeline()->passes()[2];
  const double middle = (pass.begin + pass.end) / 2;
  Q_EMIT predicted.chart()->cursorMoved(middle);
  headroom::test::wait_until([&] { return predicted.chart()->cursor() == middle; });
  CHECK(total_of(predicted.table()->table()) ==
        Approx(double(predicted.timeline()->total_bytes(*predicted.moment()))));
  const double there = *measured.chart()->cursor();
  CHECK(there == Approx((other.begin + other.end) / 2));
  CHECK(total_of(measured.table()->table()) ==
        Approx(double(measured.timeline()->total_bytes(*measured.moment()))));
  page.findChild<QPushButton*>("go-to-peak")->click();
  CHECK(*predicted.moment() == predicted.timeline()->peak());
}

TEST_CASE("timeline page: goes to a peak that is out of sight, and holds the cursor on both together") {
  ShownTimeline shown(sample_files().all());
  TimelinePage& page = shown.page;
  ChartView &predicted = *page.side(0).chart(), &measured = *page.side(1).chart();
  const double peak = page.side(1).timeline()->seconds(page.side(1).timeline()->peak());
  const double end = predicted.visibleRange().second;
  const double begin = peak > end / 2 ? 0 : end * 0.9;
  predicted.setVisibleRange(begin, begin + end * 0.02);
  page.goToPeak();
  CHECK(measured.visibleRange().first <= peak);
  CHECK(measured.visibleRange().second >= peak);
  predicted.setPinned(true);
  CHECK(measured.pinned());
  measured.setPinned(false);
  CHECK_FALSE(predicted.pinned());
}

TEST_CASE("timeline page: a selected range restricts the tables, on both timelines") {
  ShownTimeline shown({sample_files().file("plan.json"), sample_files().file("gpu_trace.json")});
  TimelinePage& page = shown.page;
  TimelineSide &predicted = page.side(0), &measured = page.side(1);
  ChartView& chart = *measured.chart();
  LiveBox& box = *measured.liveBox();
  box.chooser()->setCurrentIndex(1);  // by passes
  const size_t all = box.gpu()->table().rows.size();
  REQUIRE(all > 2);
  // From the begin to the middle of the first pass: with Shift and the mouse.
  const reports::Timeline& timeline = *measured.timeline();
  const reports::Span first = timeline.passes().front();
  const QCPAxis& axis = *chart.plot()->xAxis;
  const int y = chart.plot()->axisRect()->center().y();
  const QPoint from(static_cast<int>(axis.coordToPixel(0)) + 1, y),
      to(static_cast<int>(axis.coordToPixel(first.end / 2)), y);
  QTest::mousePress(chart.plot(), Qt::LeftButton, Qt::ShiftModifier, from);
  QTest::mouseMove(chart.plot(), to);
  QTest::mouseRelease(chart.plot(), Qt::LeftButton, Qt::ShiftModifier, to);
  REQUIRE(chart.selection());
  REQUIRE(predicted.chart()->selection());
  const auto [begin, end] = *chart.selection();
  CHECK(end == Approx(first.end / 2).margin(measured.chart()->columnWidth() * 3));
  REQUIRE(measured.moment());
  CHECK(*measured.moment() == timeline.highest(timeline.at(begin), timeline.at(end) + 1));
  CHECK_THAT(measured.caption().toStdString(), Catch::Contains("the highest moment from"));
  CHECK(total_of(measured.table()->table()) == Approx(double(timeline.total_bytes(*measured.moment()))));
  // Half of a pass: its time on the host, and its work in the range.
  REQUIRE(box.gpu()->table().rows.size() == 1);
  CHECK(std::get<double>(box.gpu()->table().rows[0].cells[2]) == Approx(end - begin));
  CHECK(std::get<double>(box.gpu()->table().rows[0].cells[3]) ==
        Approx(0.125 + 0.0625 + 0.03125 - begin).margin(measured.chart()->columnWidth() * 9));
  // The cursor does not move a table that a range holds.
  const size_t held = *measured.moment();
  measured.lookAt(timeline.end_seconds(), false);
  CHECK(*measured.moment() == held);
  page.goToPeak();
  CHECK_FALSE(chart.selection());
  CHECK(*measured.moment() == timeline.peak());
  CHECK(box.gpu()->table().rows.size() == all);
}

TEST_CASE("timeline page: says why the statistics have another peak or time than the trace") {
  ShownTimeline shown({sample_files().file("plan.json"), sample_files().file("trace.json")});
  const auto* note = shown.page.findChild<QLabel*>("note");
  CHECK(note->isHidden());
  shown.open({sample_files().file("stats.json")});
  CHECK_THAT(note->text().toStdString(), Catch::StartsWith("This trace and stats.json are of two runs"));
  const test::Scratch folder;
  RunStats same = read_stats(sample_files().folder() / "stats.json");
  same.seconds = shown.workspace.chosen<RecordedTrace>()->as<RecordedTrace>()->trace.seconds;
  same.pool_peak_bytes = int64_t{5} << 20;
  same.outside_bytes = int64_t{1} << 20;
  same.peak_bytes = same.pool_peak_bytes + same.outside_bytes;
  write_stats(folder / "same.json", same);
  shown.open({QString::fromStdString(folder / "same.json")});
  CHECK_THAT(note->text().toStdString(), Catch::StartsWith("The peak in same.json is 6.0 MiB"));
}

TEST_CASE("timeline page: a GPU's trace shows its kinds, what the GPU did and who watched") {
  ShownTimeline shown({sample_files().file("plan.json"), sample_files().file("trace.json")});
  TimelinePage& page = shown.page;
  for (size_t i = 0; i < 2; ++i) {
    CHECK_FALSE(page.side(i).liveBox()->chooser()->isVisible());
    CHECK(page.side(i).note().isEmpty());
  }
  shown.open({sample_files().file("gpu_trace.json")});
  TimelineSide& side = page.side(1);
  LiveBox& box = *side.liveBox();
  const reports::Chart& chart = side.chart()->chart();
  REQUIRE_FALSE(chart.series.empty());
  CHECK(chart.series.back().name == "counted by the driver");
  const reports::Timeline& timeline = *side.timeline();
  CHECK(total_of(side.table()->table()) == Approx(double(timeline.total_bytes(timeline.peak()))));
  CHECK(total_of(side.table()->table()) ==
        Approx(double(test::kGpuContextBytes + test::kGpuReservedBytes + test::kGpuLibraryBytes)));

  const auto* note_line = page.findChild<QLabel*>("note");
  const QString note = note_line->text();
  CAPTURE(note.toStdString());
  CHECK(note_line->isVisible());
  CHECK(note.contains("GPU records: allocator"));
  CHECK(note.contains("CUPTI memory: not captured: held by another profiler."));
  CHECK(note.contains("5 records were lost"));
  CHECK(note.contains("1 activity belongs to no known step"));
  CHECK(note.contains("The driver reported its memory"));

  REQUIRE(box.chooser()->isVisible());
  REQUIRE(box.chooser()->count() == 5);
  CHECK(side.table()->isVisible());
  QStringList titles;
  for (int i = 1; i < box.chooser()->count(); ++i) {
    box.chooser()->setCurrentIndex(i);
    CHECK(box.gpu()->isVisible());
    CHECK_FALSE(side.table()->isVisible());
    CHECK(box.gpu()->model().rowCount() > 0);
    titles << QString::fromStdString(box.gpu()->table().title);
  }
  CHECK(titles == QStringList{"Time of the GPU by passes", "Steps that took the GPU longest",
                              "What the GPU ran", "Streams of the GPU"});
  const std::vector<Export> exports = page.exports();
  CHECK(exports.size() == 2 + 2 + 4);
  const test::Scratch folder;
  exports.back().write(QString::fromStdString((folder / "streams.csv").string()));
  CHECK_THAT(test::read_bytes(folder / "streams.csv"),
             Catch::StartsWith("stream,calls,busy_seconds,share\r\n"));

  // The cursor still moves what is on the device, and another trace has nothing of all this.
  side.lookAt(0, false);
  CHECK(box.gpu()->isVisible());
  shown.workspace.close(shown.workspace.chosen<RecordedTrace>());
  shown.rest();
  CHECK(page.side(1).liveBox()->chooser()->isHidden());
  CHECK(note_line->isHidden());
  CHECK(page.side(1).liveBox()->gpu()->isHidden());
}

}  // namespace
}  // namespace headroom::gui
