#include "reports/figures/layers.h"

#include <catch2/catch.hpp>
#include <numeric>

#include "tests/reports/figures/sample_documents.h"

namespace headroom::reports {
namespace {

double number(const Table& table, size_t row, size_t column) {
  return std::get<double>(table.rows.at(row).cells.at(column));
}

TEST_CASE("layers: a group of figures for each size") {
  const profiler::Profile profile = test::made_up_profile();
  const Table table = layers_table(profile);
  REQUIRE(table.columns.size() == 3 + 2 * 5);
  REQUIRE(table.rows.size() == profile.layers.size());
  for (size_t size = 0; size < 2; ++size) {
    for (size_t c = 3 + size * 5; c < 8 + size * 5; ++c) {
      CAPTURE(c);
      CHECK(table.columns[c].group == (size == 0 ? "256×192" : "512×384, batch 2"));
      CHECK_FALSE(table.columns[c].explanation.empty());
      CHECK(table.columns[c].bars == (table.columns[c].unit != Unit::flops));
    }
  }
  for (size_t row = 0; row < table.rows.size(); ++row) {
    CAPTURE(row);
    const profiler::LayerProfile& layer = profile.layers[row];
    REQUIRE(table.rows[row].cells.size() == table.columns.size());
    CHECK(std::get<std::string>(table.rows[row].cells[0]) == layer.name);
    CHECK(std::get<std::string>(table.rows[row].cells[1]) == layer.kind);
    CHECK(std::get<std::string>(table.rows[row].cells[2]) == layer.latency_table);
    for (size_t size = 0; size < 2; ++size) {
      const profiler::LayerMeasurement& measured = layer.sizes[size];
      const size_t first = 3 + size * 5;
      const double expected[] = {double(measured.activation_bytes), double(measured.workspace_bytes),
                                 double(measured.live_bytes), measured.flops, measured.seconds};
      for (size_t c = 0; c < 5; ++c) CHECK(number(table, row, first + c) == expected[c]);
      CHECK(table.columns[first + 2].title == "live");
      CHECK(table.columns[first + 4].unit == Unit::seconds);
    }
  }
}

TEST_CASE("layers: those that made a size's peak stand out") {
  const profiler::Profile profile = test::made_up_profile();
  const Table table = layers_table(profile);
  CHECK(table.rows[0].stands_out);        // kept tensor that was the largest at the first size's peak
  CHECK(table.rows[1].stands_out);        // ran at the first size's peak
  CHECK(table.rows[2].stands_out);        // ran at the second size's
  CHECK_FALSE(table.rows[3].stands_out);  // neither
}

TEST_CASE("layers: what was live at a peak adds up to it") {
  const profiler::Profile profile = test::made_up_profile();
  for (size_t size = 0; size < 2; ++size) {
    const Table table = peak_live_table(profile, size);
    double bytes = 0, share = 0;
    for (size_t row = 0; row < table.rows.size(); ++row) {
      bytes += number(table, row, 1);
      share += number(table, row, 2);
      CHECK(table.rows[row].stands_out == (row == 0));
    }
    CHECK(bytes == double(profile.sizes[size].peak_bytes));
    CHECK(share == Approx(1));
    CHECK_THAT(table.title, Catch::Contains(profile.sizes[size].peak_layer));
  }
  CHECK(number(peak_live_table(profile, 1), 0, 2) == Approx(2.0 / 3));
}

TEST_CASE("layers: a latency table's line for each number of columns goes through its grid points") {
  const profiler::LatencyTable latency_table{
      "conv 3x3 8->16", {1, 2, 8}, {4, 32}, {1e-4, 6e-4, 2e-4, 1e-3, 7e-4, 4e-3}, {0, 0, 0, 0, 0, 0}};
  const Chart chart = latency_table_chart(latency_table);
  CHECK(chart.title == latency_table.name);
  CHECK(chart.x.logarithmic);
  CHECK(chart.y.logarithmic);
  CHECK(chart.y.unit == Unit::seconds);
  REQUIRE(chart.series.size() == 2);
  CHECK(chart.series[1].name == "32 columns");
  for (size_t s = 0; s < 2; ++s) {
    const Series& series = chart.series[s];
    REQUIRE(series.x.size() == 3);
    for (size_t i = 0; i < 3; ++i) {
      CHECK(series.x[i] == double(latency_table.rows[i] * latency_table.columns[s]));
      CHECK(series.y[i] == Approx(latency_table.seconds_at(double(latency_table.rows[i]),
                                                           double(latency_table.columns[s]))));
    }
    CHECK(std::is_sorted(series.x.begin(), series.x.end()));
  }
  REQUIRE(chart.notes.size() == 2);
  CHECK(chart.notes[1].x == 8 * 32);
  CHECK(chart.notes[1].y == 4e-3);
  CHECK(chart.notes[1].text == "32 columns");
}

}  // namespace
}  // namespace headroom::reports
