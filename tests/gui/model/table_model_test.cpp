#include "gui/model/table_model.h"

#include <QAbstractItemModelTester>
#include <catch2/catch.hpp>

#include "gui/model/figure_text.h"

namespace headroom::gui {
namespace {

using Failure = QAbstractItemModelTester::FailureReportingMode;

reports::Table sizes() {
  reports::Table table{"Sizes", {}, {}};
  table.columns = {{.title = "layer", .is_text = true},
                   {.title = "live",
                    .unit = reports::Unit::bytes,
                    .bars = true,
                    .explanation = "All of it.",
                    .group = "512×512"},
                   {.title = "time", .unit = reports::Unit::seconds}};
  table.rows = {{{std::string("mid.block"), 900.0 * 1024, 2.0}, false},
                {{std::string("conv_in"), 3.0 * 1024 * 1024 * 1024, 0.5}, true},
                {{std::string("conv_out"), std::monostate(), 10.0}, false},
                {{std::string("up.0"), 20.0 * 1024 * 1024, std::monostate()}, false}};
  return table;
}

QStringList column_texts(const QAbstractItemModel& model, int column) {
  QStringList texts;
  for (int row = 0; row < model.rowCount(); ++row) texts << model.index(row, column).data().toString();
  return texts;
}

TEST_CASE("table model: keeps what views rely on, also while tables come and go") {
  TableModel model;
  SortFilter sorted;
  const QAbstractItemModelTester model_tester(&model, Failure::Fatal);
  sorted.setSourceModel(&model);
  const QAbstractItemModelTester sorted_tester(&sorted, Failure::Fatal);
  model.setTable(sizes());
  sorted.sort(1);
  sorted.setText("conv");
  model.setTable({});
  model.setTable(sizes());
  sorted.setText({});
  sorted.sort(-1);
  CHECK(sorted.rowCount() == 4);
  reports::Table ragged = sizes();
  ragged.rows[0].cells.clear();  // a row that is too short shows nothing
  model.setTable(ragged);
  CHECK(model.index(0, 1).data().toString().isEmpty());
  CHECK_FALSE(model.data(model.index(9, 9), Qt::DisplayRole).isValid());
}

TEST_CASE("table model: texts are those of the reports, headings have their group above them") {
  TableModel model;
  model.setTable(sizes());
  CHECK(model.index(0, 1).data().toString().toStdString() ==
        reports::cell_text(sizes().columns[1], 900.0 * 1024));
  CHECK(model.headerData(1, Qt::Horizontal, Qt::DisplayRole).toString() == QStringLiteral("512×512\nlive"));
  CHECK(model.headerData(0, Qt::Horizontal, Qt::DisplayRole).toString() == QStringLiteral("layer"));
  CHECK(model.headerData(1, Qt::Horizontal, Qt::ToolTipRole).toString() == QStringLiteral("All of it."));
  CHECK(model.index(1, 0).data(TableModel::kStandsOut).toBool());
  CHECK(model.index(1, 0).data(Qt::BackgroundRole).isValid());
  CHECK_FALSE(model.index(0, 0).data(Qt::BackgroundRole).isValid());
}

TEST_CASE("table model: bars are shares of the column's largest, and only where the column has bars") {
  TableModel model;
  model.setTable(sizes());
  CHECK(model.index(1, 1).data(TableModel::kBar).toDouble() == 1);
  CHECK(model.index(3, 1).data(TableModel::kBar).toDouble() == Approx(20.0 / 3072));
  CHECK_FALSE(model.index(2, 1).data(TableModel::kBar).isValid());
  CHECK_FALSE(model.index(0, 2).data(TableModel::kBar).isValid());
}

TEST_CASE("sort filter: numbers sort by themselves and not by their texts, empty cells last either way") {
  TableModel model;
  SortFilter sorted;
  sorted.setSourceModel(&model);
  model.setTable(sizes());
  sorted.sort(1, Qt::AscendingOrder);
  CHECK(column_texts(sorted, 0) == QStringList{"mid.block", "up.0", "conv_in", "conv_out"});
  sorted.sort(1, Qt::DescendingOrder);
  CHECK(column_texts(sorted, 0) == QStringList{"conv_in", "up.0", "mid.block", "conv_out"});
  sorted.sort(2, Qt::AscendingOrder);
  CHECK(column_texts(sorted, 0) == QStringList{"conv_in", "mid.block", "conv_out", "up.0"});
  sorted.sort(0, Qt::AscendingOrder);
  CHECK(column_texts(sorted, 0) == QStringList{"conv_in", "conv_out", "mid.block", "up.0"});
}

TEST_CASE("sort filter: keeps rows of which some cell holds the text, in any case") {
  TableModel model;
  SortFilter sorted;
  sorted.setSourceModel(&model);
  model.setTable(sizes());
  sorted.setText(" CONV ");
  CHECK(sorted.rowCount() == 2);
  sorted.setText("GiB");
  REQUIRE(sorted.rowCount() == 1);
  CHECK(sorted.index(0, 0).data().toString() == "conv_in");
  sorted.setText("nothing like it");
  CHECK(sorted.rowCount() == 0);
}

TEST_CASE("figure texts: units and unknown words stay as they are without a catalogue") {
  CHECK(figure_text("limit 592.0 MiB") == "limit 592.0 MiB");
  CHECK(figure_text("") == "");
  CHECK(figure_text(reports::Unit::bytes, 1024.0 * 1024).toStdString() ==
        reports::format(reports::Unit::bytes, 1024.0 * 1024));
  CHECK(figure_text(reports::Unit::none, 7) == "7");
}

}  // namespace
}  // namespace headroom::gui
