#include "gui/view/lanes_view.h"

#include <qcustomplot.h>

#include <QTest>
#include <catch2/catch.hpp>

#include "gui/view/chart_view.h"
#include "gui/view/live_box.h"
#include "gui/view/timeline_page.h"
#include "gui/view/timeline_side.h"
#include "gui/view/treemap_view.h"
#include "tests/gui/sample_files.h"

namespace headroom::gui {
namespace {

using test::sample_files;

struct ShownTimeline {
  explicit ShownTimeline(const QStringList& files) {
    page.resize(1280, 900);
    page.show();
    workspace.open(files);
    headroom::test::wait_until([&] { return !workspace.busy() && !page.busy(); });
    for (int i = 0; i < 20; ++i) QTest::qWait(5);
  }
  Workspace workspace;
  TimelinePage page{workspace};
};

TEST_CASE("lanes: a GPU's streams stand below the chart, over the same time and between the same edges") {
  ShownTimeline shown({sample_files().file("gpu_trace.json")});
  LanesView& lanes = *shown.page.lanes();
  ChartView& chart = *shown.page.side(1).chart();
  REQUIRE(lanes.isVisible());
  CHECK(lanes.lanes().size() == 3);
  const QRect plot = chart.plot()->axisRect()->rect();
  const int left =
      chart.plot()->mapTo(&shown.page, plot.topLeft()).x() - lanes.mapTo(&shown.page, QPoint()).x();
  // The first kernel of the trace begins with it and takes half of its pass.
  CHECK(lanes.textAt(QPointF(left + 3, 5)).contains("multiply<128, 64>"));
  CHECK(lanes.textAt(QPointF(left - 10, 5)).isEmpty());
  chart.setVisibleRange(0.26, 0.3);
  headroom::test::wait_until([&] { return lanes.lanes()[0].blocks.size() == 1; });
  CHECK(lanes.lanes()[0].blocks[0].pass == 1);
}

TEST_CASE("lanes: there are none without a GPU") {
  ShownTimeline shown({sample_files().file("trace.json")});
  CHECK_FALSE(shown.page.lanes()->isVisible());
  ShownTimeline watched({sample_files().file("gpu_trace.json")});
  watched.workspace.close(watched.workspace.chosen<RecordedTrace>());
  CHECK_FALSE(watched.page.lanes()->isVisible());
}

TEST_CASE("treemap: follows the cursor's moment, and adds up to it") {
  ShownTimeline shown({sample_files().file("plan.json")});
  TimelineSide& side = shown.page.side(0);
  TreemapView& treemap = *side.liveBox()->treemap();
  const auto shown_bytes = [&] {
    int64_t bytes = 0;
    for (const reports::TreemapTile& tile : treemap.tiles()) bytes += tile.module ? 0 : tile.bytes;
    return bytes;
  };
  const reports::Timeline& timeline = *side.timeline();
  CHECK(shown_bytes() == timeline.total_bytes(timeline.peak()));
  side.lookAt(timeline.seconds(timeline.size() / 3), false);
  REQUIRE(side.moment());
  CHECK(shown_bytes() == timeline.total_bytes(*side.moment()));
  const reports::TreemapTile& largest = treemap.tiles().front();
  const QString text = treemap.textAt(QPointF(largest.x + largest.width / 2, largest.y + largest.height / 2));
  CHECK_FALSE(text.isEmpty());
}

}  // namespace
}  // namespace headroom::gui
