#include <nlohmann/json.hpp>

#include "reports/render/report.h"

namespace headroom::reports {
namespace {

using nlohmann::json;

/// Numbers that JSON cannot represent (NaN, infinity) become null.
json to_json(const Cell& cell) {
  if (const std::string* text = std::get_if<std::string>(&cell)) return *text;
  if (const double* number = std::get_if<double>(&cell)) return *number;
  return nullptr;
}

json to_json(const Table& table) {
  json columns = json::array(), rows = json::array();
  for (const Column& column : table.columns) {
    columns.push_back({{"name", csv_name(column.title, column.unit)}, {"title", column.title}});
    if (!column.group.empty()) columns.back()["group"] = column.group;
  }
  json stand_out = json::array();
  for (const Row& row : table.rows) {
    json cells = json::array();
    for (const Cell& cell : row.cells) cells.push_back(to_json(cell));
    if (row.stands_out) stand_out.push_back(rows.size());
    rows.push_back(std::move(cells));
  }
  return {{"title", table.title},
          {"columns", std::move(columns)},
          {"rows", std::move(rows)},
          {"stand_out", std::move(stand_out)}};
}

json to_json(const Part& part) {
  json tables = json::array();
  for (const Table& table : part.tables) tables.push_back(to_json(table));
  return {{"heading", part.heading}, {"sentences", part.sentences}, {"tables", std::move(tables)}};
}

}  // namespace

json to_json(const Report& report) {
  json sections = json::array();
  for (const Section& section : report.sections) {
    json parts = json::array();
    for (const Part& part : section.parts) parts.push_back(to_json(part));
    sections.push_back({{"title", section.title}, {"parts", std::move(parts)}});
  }
  json figures = json::array();
  for (const KeyFigure& figure : report.headline.figures)
    figures.push_back({{"what", figure.what}, {"bytes", figure.bytes}, {"basis", figure.basis}});
  return {{"title", report.title},
          {"files", report.files},
          {"headline",
           {{"figures", std::move(figures)},
            {"sentence", report.headline.sentence},
            {"basis", report.headline.basis},
            {"beside", report.headline.beside}}},
          {"sections", std::move(sections)}};
}

}  // namespace headroom::reports
