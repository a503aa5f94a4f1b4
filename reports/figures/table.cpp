#include "reports/figures/table.h"

#include <algorithm>
#include <cmath>

namespace headroom::reports {
namespace {

constexpr const char* kLineEnd = "\r\n";

/// Escapes text from files that a spreadsheet would take for a formula.
std::string harmless(const std::string& text) {
  const bool is_formula = !text.empty() && std::string("=+-@\t\r").find(text.front()) != std::string::npos;
  return is_formula ? "'" + text : text;
}

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string csv_cell(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return quoted(harmless(*text));
  if (const auto* number = std::get_if<double>(&cell)) return exact_text(*number);
  return "";
}

}  // namespace

std::string cell_text(const Column& column, const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* number = std::get_if<double>(&cell)) return format(column.unit, *number);
  return "";
}

std::string to_csv(const Table& table) {
  std::string csv;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    const Column& column = table.columns[c];
    const std::string title = column.group.empty() ? column.title : column.group + " " + column.title;
    csv += (c == 0 ? "" : ",") + quoted(csv_name(title, column.unit));
  }
  csv += kLineEnd;
  for (const Row& row : table.rows) {
    for (size_t c = 0; c < row.cells.size(); ++c) {
      if (c > 0) csv += ',';
      csv += csv_cell(row.cells[c]);
    }
    csv += kLineEnd;
  }
  return csv;
}

std::vector<double> largest_numbers(const Table& table) {
  std::vector<double> largest(table.columns.size(), 0);
  for (const Row& row : table.rows) {
    for (size_t c = 0; c < std::min(row.cells.size(), largest.size()); ++c) {
      const auto* number = std::get_if<double>(&row.cells[c]);
      if (number != nullptr && std::isfinite(*number)) largest[c] = std::max(largest[c], *number);
    }
  }
  return largest;
}

}  // namespace headroom::reports
