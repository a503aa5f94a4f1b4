#include "gui/view/scaling_view.h"

#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QSignalSpy>
#include <catch2/catch.hpp>

#include "gui/view/chart_view.h"
#include "tests/gui/sample_files.h"

namespace headroom::gui {
namespace {

using test::sample_files;
using test::wait_until;

TEST_CASE("scaling view: both curves, and in words what fits the limit as it moves") {
  Workspace workspace;
  ScalingView view(workspace);
  PlanningQuestion question;
  question.request = sample_files().plan().plan.request;
  question.request.model = HEADROOM_TEST_DATA "/demo_model";
  question.options.limit_bytes = 1 << 20;
  workspace.ask(question);
  view.resize(1200, 800);
  view.show();
  view.findChild<QComboBox*>("most-across")->setCurrentIndex(0);
  wait_until([&] { return !view.busy(); });
  auto& chart = *view.findChild<ChartView*>();
  REQUIRE(chart.chart().series.size() == 2);
  CHECK(chart.chart().series[0].x.size() == chart.chart().series[1].x.size());
  const auto& words = *view.findChild<QLabel*>("largest");
  CHECK_THAT(words.text().toStdString(), Catch::Contains("Planned: not even 256×192 fits"));

  QSignalSpy dragged(&view, &ScalingView::limitDragged);
  Q_EMIT chart.handleMoved(double(int64_t{4} << 30));
  CHECK(dragged.size() == 1);
  question.options.limit_bytes = int64_t{4} << 30;
  workspace.ask(question);
  CHECK_FALSE(view.busy());  // a limit that moves needs nothing new
  CHECK_THAT(words.text().toStdString(), Catch::Contains("Planned: ") && Catch::Contains("and more"));
  CHECK(chart.handle() == double(int64_t{4} << 30));

  // The computation can be stopped and resumed.
  view.findChild<QComboBox*>("most-across")->setCurrentIndex(3);
  auto& stop = *view.findChild<QPushButton*>("stop");
  REQUIRE(view.busy());
  stop.click();
  CHECK_FALSE(view.busy());
  view.findChild<QComboBox*>("most-across")->setCurrentIndex(0);
  wait_until([&] { return !view.busy(); });
  question.request.width_pixels = 255;
  workspace.ask(question);
  wait_until([&] { return !view.busy(); });
  CHECK_THAT(words.text().toStdString(), Catch::Contains("--size"));
  question.request.width_pixels = 256;
  workspace.ask(question);
  wait_until([&] { return !view.busy(); });

  // Measured points come with the files.
  workspace.open({sample_files().file("plan.json"), sample_files().file("stats.json")});
  wait_until([&] { return !workspace.busy() && !view.busy(); });
  CHECK(chart.chart().series.size() == 3);
}

}  // namespace
}  // namespace headroom::gui
