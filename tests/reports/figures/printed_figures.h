#pragma once

#include "reports/figures/chart.h"
#include "reports/figures/table.h"
#include "tests/support/expected.h"

// Figures as texts, for files of expected figures.
namespace headroom::reports::test {

/// Nine digits: compilers differ in the last ones.
inline std::string number_text(double value) {
  return reports::printed("%.9g", value);
}

inline std::string cell_of(const Cell& cell) {
  if (const double* number = std::get_if<double>(&cell)) return number_text(*number);
  return std::holds_alternative<std::string>(cell) ? std::get<std::string>(cell) : "(empty)";
}

/// The headings with their units, `|` for columns of bars, then the rows, `<-` for those that stand out.
inline std::string printed(const Table& table) {
  std::string text = table.title + "\n";
  for (const Column& column : table.columns) {
    text += "  " + csv_name(column.group + " " + column.title, column.unit) + (column.bars ? " |" : "") +
            (column.is_text ? " (text)" : "") + (column.explanation.empty() ? "" : " (explained)") + "\n";
  }
  for (const Row& row : table.rows) {
    std::string separator = "- ";
    for (const Cell& cell : row.cells) text += std::exchange(separator, "; ") + cell_of(cell);
    text += row.stands_out ? " <-\n" : "\n";
    CHECK(row.cells.size() == table.columns.size());
  }
  return text;
}

inline std::string printed(const std::vector<Table>& tables) {
  std::string text;
  for (const Table& table : tables) text += printed(table) + "\n";
  return text;
}

inline std::string printed(const Chart& chart) {
  std::string text = chart.title + (chart.compact ? " (compact)\n" : "\n");
  for (const ChartAxis* axis : {&chart.x, &chart.y})
    text += "  " + csv_name(axis->title, axis->unit) + (axis->logarithmic ? ", logarithmic\n" : "\n");
  const auto points = [&](const std::vector<double>& x, const std::vector<double>& y) {
    for (size_t i = 0; i < std::max(x.size(), y.size()); ++i)
      text += " " + (i < x.size() ? number_text(x[i]) : "-") + ":" + (i < y.size() ? number_text(y[i]) : "-");
    text += "\n";
  };
  for (const Series& series : chart.series) {
    text += "series " + series.name + ", mark " + std::to_string(static_cast<int>(series.mark)) +
            ", colour " + std::to_string(static_cast<int>(series.colour_role)) + ":";
    points(series.x, series.y);
  }
  for (const Guide& guide : chart.guides)
    text += std::string(guide.vertical ? "vertical" : "horizontal") + " guide " + guide.label + " at " +
            number_text(guide.at) + "\n";
  for (const Note& note : chart.notes)
    text += "note at " + number_text(note.x) + ":" + number_text(note.y) + " " + note.text + "\n";
  for (const Span& span : chart.spans)
    text += "span " + number_text(span.begin) + " to " + number_text(span.end) + " " + span.name + "\n";
  if (chart.strip) {
    text += "strip " + chart.strip->name + ":";
    points(chart.strip->x, chart.strip->share);
  }
  return text;
}

}  // namespace headroom::reports::test
