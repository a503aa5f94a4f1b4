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
  Unit unit = Unit::none;     ///< unit of the column's numbers
  bool is_text = false;       ///< the cells are texts
  bool bars = false;          ///< draws a bar per cell, relative to the column's largest number
  std::string explanation{};  ///< one sentence, shown as a tooltip; empty: the title is enough
  std::string group{};        ///< common heading of several columns: "512×512"
};

/// A text or a number. std::monostate: empty.
using Cell = std::variant<std::monostate, std::string, double>;

struct Row {
  std::vector<Cell> cells;  ///< as many as the table has columns
  bool stands_out = false;  ///< highlighted: makes the peak, or differs most
};

/// Figures as rows and columns. Reports print them, the GUI shows them, and both export CSV.
struct Table {
  std::string title;
  std::vector<Column> columns;
  std::vector<Row> rows;
};

/// The cell's text for people. Empty for an empty cell or a number that is not finite.
std::string cell_text(const Column& column, const Cell& cell);

/// Writes RFC 4180 with numbers in full precision. Headings are `group`, `title` and unit. A text that a
/// spreadsheet would take for a formula gets a leading apostrophe.
std::string to_csv(const Table& table);

/// The largest number of each column, the scale of its bars. 0 for texts, and for columns without positive
/// numbers.
std::vector<double> largest_numbers(const Table& table);

}  // namespace headroom::reports
