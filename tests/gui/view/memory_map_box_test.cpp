#include "gui/view/timeline_page.h"

#include <QLabel>
#include <QTabWidget>
#include <QTest>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "gui/view/chart_view.h"
#include "gui/view/memory_map_box.h"
#include "gui/view/table_view.h"
#include "tests/gui/support/shown.h"

namespace headroom::gui {
namespace {

using test::sample_files;

/// The sample's trace with places: one after another, at two heights.
QString placed_trace_file() {
  static const test::Scratch folder;
  nlohmann::json trace = nlohmann::json::parse(test::read_bytes(sample_files().folder() / "trace.json"));
  for (int i = 0; i < 8; ++i)
    trace["places"].push_back({i * 0.125, i * 0.125 + 0.125, 3, 1, 0, i % 2 * 65536, 32768});
  return QString::fromStdString(folder.write("placed.json", trace.dump()).string());
}

struct ShownMap : test::ShownPage<TimelinePage> {
  explicit ShownMap(const QStringList& files) {
    child<QTabWidget>().setCurrentIndex(1);
    open(files);
  }
  MemoryMapBox& box = child<MemoryMapBox>();
};

TEST_CASE("memory map: opens at the peak, with every place and gap of it") {
  ShownMap shown({placed_trace_file()});
  REQUIRE(shown.box.map() != nullptr);
  const reports::MemoryMap& map = *shown.box.map();
  CHECK(*shown.box.chart()->cursor() == Approx(reports::peak_seconds(map)));
  double all = 0;
  for (const reports::Row& row : shown.box.places()->table().rows) all += std::get<double>(row.cells[2]);
  CHECK(all == Approx(double(map.reserved_bytes)));
  CHECK(shown.box.exports().size() == 2);
}

TEST_CASE("memory map: a click goes to the moment, and a place says what it is") {
  ShownMap shown({placed_trace_file()});
  ChartView& chart = *shown.box.chart();
  const MapLayer& layer = *shown.box.layer();
  const reports::MemoryMap& map = *shown.box.map();
  const reports::MapPlace* widest = &map.places.front();
  for (const reports::MapPlace& place : map.places) {
    if (place.kind == MemoryKind::kept && layer.rectOf(place).width() > layer.rectOf(*widest).width())
      widest = &place;
  }
  const QPointF middle = layer.rectOf(*widest).center();
  const reports::MapPlace* found = layer.placeAt(middle);
  REQUIRE(found != nullptr);
  CHECK(found->offset == widest->offset);
  CHECK(shown.box.textOf(*found).contains(QString::fromStdString(widest->name)));
  QTest::mouseClick(chart.plot(), Qt::LeftButton, {}, middle.toPoint());
  CHECK(*chart.cursor() == Approx((widest->begin_seconds + widest->end_seconds) / 2).epsilon(0.05));
  double listed = 0;
  for (const reports::Row& row : shown.box.places()->table().rows) listed += std::get<double>(row.cells[2]);
  CHECK(listed == Approx(double(map.reserved_bytes)));
}

TEST_CASE("memory map: a trace without addresses says so, and so does a plan alone") {
  for (const auto& [file, words] :
       {std::pair("trace.json", "no addresses"), std::pair("plan.json", "Open a trace")}) {
    ShownMap shown({sample_files().file(file)});
    CHECK(shown.box.map() == nullptr);
    CHECK(shown.box.exports().empty());
    bool said = false;
    for (const QLabel* label : shown.box.findChildren<QLabel*>())
      said |= label->isVisible() && label->text().contains(words);
    CHECK(said);
  }
}

}  // namespace
}  // namespace headroom::gui
