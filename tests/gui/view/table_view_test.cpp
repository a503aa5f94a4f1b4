#include "gui/view/table_view.h"

#include <QHeaderView>
#include <QTableView>
#include <catch2/catch.hpp>

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

}  // namespace
}  // namespace headroom::gui
