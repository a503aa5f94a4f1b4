#include "gui/view/layers_page.h"

#include <QComboBox>
#include <QTableView>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "gui/view/chart_view.h"
#include "gui/view/table_view.h"
#include "profiler/eager/recording_file.h"
#include "reports/figures/layers.h"
#include "tests/gui/support/shown.h"
#include "tests/profiler/eager/recording_json.h"
#include "tests/reports/figures/sample_recording.h"

namespace headroom::gui {
namespace {

using test::sample_files;
using test::Scratch;

TEST_CASE("layers page: recorded decodes, and the profile again once that is chosen") {
  const Scratch scratch;
  const std::filesystem::path file =
      scratch.write("recording.json", profiler::test::to_json(test::made_up_recording()).dump());
  test::ShownPage<LayersPage> shown({sample_files().file("profile.json")});
  LayersPage& page = shown.page;
  const auto profiled = page.layers()->table().rows.size();
  REQUIRE(profiled > 3);
  CHECK(page.chart()->isVisibleTo(&page));

  shown.open({QString::fromStdString(file.string())});
  const reports::Table& layers = page.layers()->table();
  REQUIRE(layers.rows.size() == 3);
  CHECK(std::get<std::string>(layers.rows[2].cells[0]) == "join");
  CHECK(layers.rows[0].stands_out);
  REQUIRE(page.sizes()->count() == 2);
  CHECK(page.sizes()->itemText(1).toStdString() == "640×32, 5 frames");
  CHECK(page.live()->table().rows.size() == 2);
  // Live memory over time in place of a latency table, of the size that is chosen.
  CHECK(page.chart()->isVisibleTo(&page));
  CHECK(page.chart()->chart().series[0].y == std::vector<double>{400, 700, 1640, 500});
  page.sizes()->setCurrentIndex(0);
  CHECK(page.chart()->chart().series[0].y == std::vector<double>{400, 700, 1064, 500});
  CHECK(page.exports().size() == 3);
  CHECK(page.chooseLayer("decoder.conv_out"));
  CHECK_FALSE(page.chooseLayer("decoder.conv_middle"));

  shown.open({sample_files().file("profile.json")});
  CHECK(page.layers()->table().rows.size() == profiled);
  CHECK(page.chart()->isVisibleTo(&page));
  CHECK(page.exports().size() == 3);
}

TEST_CASE("layers page: the table has the figures of the chosen size, and the file to save those of all") {
  test::ShownPage<LayersPage> shown({sample_files().file("profile.json")});
  LayersPage& page = shown.page;
  const reports::Table all =
      reports::layers_table(*shown.workspace.chosen<profiler::Profile>()->as<profiler::Profile>());
  REQUIRE(page.sizes()->count() > 1);
  REQUIRE(page.chooseLayer("d"));
  for (int size = 0; size < page.sizes()->count(); ++size) {
    page.sizes()->setCurrentIndex(size);
    const reports::Table& table = page.layers()->table();
    REQUIRE(table.columns.size() == 3 + 5);
    CHECK(table.rows[0].cells[3] == all.rows[0].cells[3 + 5 * static_cast<size_t>(size)]);
    CHECK(page.layers()->chosenRow() == 3);  // the layer stays
  }
  const Scratch scratch;
  page.exports().front().write(QString::fromStdString((scratch / "layers.csv").string()));
  CHECK(test::read_bytes(scratch / "layers.csv") == reports::to_csv(all));
}

TEST_CASE("layers page: two decodes of one size are told apart") {
  profiler::EagerRecording recording = test::made_up_recording();
  recording.decodes[1] = recording.decodes[0];
  recording.decodes[1].layers[0].activation_bytes += 4;
  const Scratch scratch;
  const auto file = scratch.write("recording.json", profiler::test::to_json(recording).dump());
  test::ShownPage<LayersPage> shown({QString::fromStdString(file.string())});
  const auto& layers = *shown.page.layers();
  for (size_t decode = 0; decode < 2; ++decode) {
    shown.page.sizes()->setCurrentIndex(static_cast<int>(decode));
    REQUIRE(layers.table().columns.size() == 2 + 4);
    CHECK(std::get<double>(layers.table().rows[0].cells[2]) ==
          double(recording.decodes[decode].layers[0].activation_bytes));
  }
}

TEST_CASE("layers page: a layer is chosen by its full name") {
  Workspace workspace;
  LayersPage page(workspace);
  CHECK_FALSE(page.chooseLayer("c"));
  test::open(workspace, {sample_files().file("profile.json")});
  CHECK(page.chooseLayer("d"));
  CHECK(page.layers()->view()->currentIndex().row() == 3);
  CHECK_FALSE(page.chooseLayer("none"));
}

}  // namespace
}  // namespace headroom::gui
