#include <algorithm>
#include <nlohmann/json.hpp>

#include "decoder/base/short_name.h"
#include "reports/render/markup.h"
#include "reports/render/report.h"

namespace headroom::reports {
namespace {

/// The text with short names of layers.
std::string shown_text(const std::string& text) {
  return markdown_text(with_short_names(text));
}

void write_table(std::string& text, const Table& table) {
  text += "**" + shown_text(table.title) + "**\n\n|";
  for (const Column& column : table.columns) text += " " + markdown_text(heading_of(column)) + " |";
  text += "\n|";
  for (const Column& column : table.columns) text += column.is_text ? "---|" : "---:|";
  text += "\n";
  for (const Row& row : table.rows) {
    text += "|";
    for (size_t c = 0; c < std::min(table.columns.size(), row.cells.size()); ++c) {
      const std::string cell = shown_text(cell_text(table.columns[c], row.cells[c]));
      text += row.stands_out && !cell.empty() ? " **" + cell + "** |" : " " + cell + " |";
    }
    text += "\n";
  }
  text += "\n";
}

void write_part(std::string& text, const Part& part) {
  if (!part.heading.empty()) text += "### " + markdown_text(part.heading) + "\n\n";
  for (const std::string& sentence : part.sentences) text += "- " + shown_text(sentence) + "\n";
  if (!part.sentences.empty()) text += "\n";
  for (const Chart& chart : part.charts)
    text += "*Only a report in HTML draws the chart “" + markdown_text(chart.title) + "”.*\n\n";
  for (const Table& table : part.tables) write_table(text, table);
}

}  // namespace

std::string to_markdown(const Report& report) {
  std::string text = "# " + markdown_text(report.title) + "\n\n";
  for (const KeyFigure& figure : report.headline.figures)
    text +=
        "- **" + markdown_text(figure.text) + "** " + markdown_text(figure.what + ", " + figure.basis) + "\n";
  if (!report.headline.figures.empty()) text += "\n" + markdown_text(report.headline.sentence) + "\n\n";
  for (const std::string& basis : report.headline.basis) text += "- " + markdown_text(basis) + "\n";
  if (!report.headline.basis.empty()) text += "\n";
  for (const std::string& sentence : report.headline.beside) text += "- " + markdown_text(sentence) + "\n";
  if (!report.headline.beside.empty()) text += "\n";
  for (const Section& section : report.sections) {
    text += "## " + markdown_text(section.title) + "\n\n";
    for (const Part& part : section.parts) write_part(text, part);
  }
  return text + "Made by headroom-report " HEADROOM_VERSION ".\n";
}

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
