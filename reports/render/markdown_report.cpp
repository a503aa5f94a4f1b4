#include <algorithm>

#include "decoder/base/short_name.h"
#include "reports/render/escape.h"
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

}  // namespace headroom::reports
