#include <algorithm>

#include "reports/render/escape.h"
#include "reports/render/report.h"

namespace headroom::reports {
namespace {

void add_cells(Table& all, const std::string& section, const Table& table) {
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const Row& row = table.rows[i];
    for (size_t c = 0; c < std::min(table.columns.size(), row.cells.size()); ++c) {
      const Column& column = table.columns[c];
      const std::string* text = std::get_if<std::string>(&row.cells[c]);
      if (std::holds_alternative<std::monostate>(row.cells[c])) continue;
      all.rows.push_back({{clean_text(section), double(i), clean_text(heading_of(column)),
                           text != nullptr ? Cell(clean_text(*text)) : row.cells[c],
                           text != nullptr ? "text" : csv_name("", column.unit)},
                          false});
    }
  }
}

}  // namespace

std::string to_long_csv(const Report& report) {
  Table all;
  for (const char* title : {"section", "row", "column", "value", "unit"})
    all.columns.push_back({.title = title});
  for (const Section& section : report.sections) {
    for (const Part& part : section.parts) {
      // Tables of several runs have equal titles, so the part's heading is added.
      const std::string before = section.title + (part.heading.empty() ? "" : ": " + part.heading) + ": ";
      for (const Table& table : part.tables) add_cells(all, before + table.title, table);
    }
  }
  return to_csv(all);
}

}  // namespace headroom::reports
