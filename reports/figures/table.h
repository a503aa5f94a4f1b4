#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "reports/figures/unit.h"

namespace headroom::reports {

struct Column {
  std::string title;          ///< short; a key of the GUI's translation
  Unit unit = Unit::none;     ///< of its numbers
  bool is_text = false;       ///< its cells are texts
  bool bars = false;          ///< drawn with a bar: how large a number is beside the column's largest
  std::string explanation{};  ///< one sentence, shown as a tooltip; empty where the title says all
  std::string group{};        ///< columns of one group stand under it: "512×512"
};

/// A text or a number; std::monostate where there is nothing to say.
using Cell = std::variant<std::monostate, std::string, double>;

struct Row {
  std::vector<Cell> cells;  ///< as many as the table has columns
  bool stands_out = false;  ///< what makes the peak, or differs the most
};

/// Figures as rows and columns: reports write it, the GUI shows it, both export it as CSV.
struct Table {
  std::string title;
  std::vector<Column> columns;
  std::vector<Row> rows;
};

/// The cell's text for people; empty where there is nothing, or a number that is not finite.
std::string cell_text(const Column& column, const Cell& cell);

/// RFC 4180, numbers in full precision under headings that end in their unit: `group`, `title`, unit. A text
/// that a spreadsheet would take for a formula gets an apostrophe before it.
std::string to_csv(const Table& table);

/// The largest number of each column, 0 for texts and where none is above it: what bars are drawn against.
std::vector<double> largest_numbers(const Table& table);

}  // namespace headroom::reports
