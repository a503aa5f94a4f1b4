#include "reports/figures/layers.h"

#include <catch2/catch.hpp>
#include <numeric>

#include "tests/reports/figures/printed_figures.h"
#include "tests/reports/figures/sample_documents.h"

namespace headroom::reports {
namespace {

double number(const Table& table, size_t row, size_t column) {
  return std::get<double>(table.rows.at(row).cells.at(column));
}

TEST_CASE("layers: a group of figures for each size, and those that made a size's peak stand out") {
  test::check_expected("figures/layers.txt", test::printed(layers_table(test::made_up_profile())));
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
  test::check_expected("figures/latency_table.txt", test::printed(chart));
  for (size_t s = 0; s < 2; ++s) {
    const Series& series = chart.series[s];
    for (size_t i = 0; i < 3; ++i)
      CHECK(series.y[i] == Approx(latency_table.seconds_at(double(latency_table.rows[i]),
                                                           double(latency_table.columns[s]))));
  }
}

}  // namespace
}  // namespace headroom::reports
