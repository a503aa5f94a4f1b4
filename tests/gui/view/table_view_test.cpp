#include "gui/view/table_view.h"

#include <QHeaderView>
#include <QTableView>
#include <catch2/catch.hpp>

#include "tests/gui/support/events.h"

namespace headroom::gui {
namespace {

TEST_CASE("table view: columns are as wide as their contents, and headings of two lines ask for no more") {
  reports::Table table;
  table.columns = {{.title = "name", .is_text = true}};
  for (int i = 0; i < 4; ++i)
    table.columns.push_back({.title = "measured", .unit = reports::Unit::bytes, .group = "peak"});
  table.rows = {{{std::string("up3.res1.conv1"), 1e8, 1e8, 1e8, 1e8}, false}};
  TableView view;
  view.resize(900, 200);
  view.show();
  view.setTable(table);
  const QFontMetrics metrics = view.view()->fontMetrics();
  CHECK(view.view()->columnWidth(0) >= metrics.horizontalAdvance("up3.res1.conv1"));
  for (int column = 1; column < 5; ++column) {
    CHECK(view.view()->columnWidth(column) >= metrics.horizontalAdvance("measured"));
    CHECK(view.view()->columnWidth(column) <= metrics.horizontalAdvance("measured") + 2.5 * metrics.height());
  }
}

TEST_CASE("table view: texts take the width of their contents, and share it where there is too little") {
  reports::Table table;
  table.columns = {{.title = "name", .is_text = true},
                   {.title = "kind", .is_text = true},
                   {.title = "memory", .unit = reports::Unit::bytes}};
  const std::string name = "autoencoder_kl.py:_decode / vae.py:forward / unet_2d_blocks.py:forward";
  table.rows = {{{name, std::string("tiles"), 1e8}, false}};
  TableView view;
  view.resize(1600, 200);
  view.show();
  view.setTable(table);
  headroom::test::handle_events();
  const QFontMetrics metrics = view.view()->fontMetrics();
  const auto width = [&](int column) { return view.view()->columnWidth(column); };
  const int contents = metrics.horizontalAdvance(QString::fromStdString(name));
  CHECK(width(0) >= contents);
  CHECK(width(0) <= contents + 3 * metrics.height());
  CHECK(width(1) <= metrics.horizontalAdvance("tiles") + 3 * metrics.height());
  // The short one keeps its width, and nothing scrolls.
  view.resize(contents, 200);
  headroom::test::handle_events();
  CHECK(width(0) < contents);
  CHECK(width(1) >= metrics.horizontalAdvance("tiles"));
  CHECK(width(1) <= metrics.horizontalAdvance("tiles") + 3 * metrics.height());
  CHECK(width(0) + width(1) + width(2) <= view.view()->viewport()->width());
}

}  // namespace
}  // namespace headroom::gui
