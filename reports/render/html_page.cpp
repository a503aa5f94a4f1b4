#include <algorithm>
#include <cstdio>
#include <numeric>

#include "decoder/base/short_name.h"
#include "reports/figures/chart.h"
#include "reports/figures/table.h"
#include "reports/render/markup.h"
#include "reports/render/page_style.h"
#include "reports/render/report.h"
#include "reports/render/svg_chart.h"

namespace headroom::reports {
namespace {

constexpr size_t kShownRows = 40;
constexpr size_t kWideColumns = 12;  // wider tables print in landscape

const char* css_class(const Column& column) {
  return column.is_text ? "text" : "number";
}

/// Writes a row of group headings above the column headings. Adjacent columns of one group share a cell.
void write_groups(Markup& page, const Table& table) {
  page.open("tr");
  for (size_t begin = 0; begin < table.columns.size();) {
    const std::string& group = table.columns[begin].group;
    size_t end = begin;
    while (end < table.columns.size() && table.columns[end].group == group) ++end;
    const std::string span = std::to_string(end - begin);
    if (group.empty()) {
      page.element("td", {{"colspan", span}}, "");
    } else {
      page.element("th", {{"class", "group"}, {"colspan", span}, {"scope", "colgroup"}}, group);
    }
    begin = end;
  }
  page.close();
}

void write_head(Markup& page, const Table& table) {
  page.open("thead");
  const bool grouped = std::any_of(table.columns.begin(), table.columns.end(),
                                   [](const Column& column) { return !column.group.empty(); });
  if (grouped) write_groups(page, table);
  page.open("tr");
  for (const Column& column : table.columns) {
    Markup::Attributes attributes{{"scope", "col"}, {"class", css_class(column)}};
    if (!column.explanation.empty()) attributes.emplace_back("title", column.explanation);
    page.element("th", attributes, column.title);
  }
  page.close();
  page.close();
}

std::string part_of(double value, double largest) {
  char text[64];
  std::snprintf(text, sizeof text, "--part:%.3f", largest > 0 ? std::clamp(value / largest, 0.0, 1.0) : 0);
  return text;
}

/// Writes text with possible line breaks after separators: "tests/data/model", "up2.res0.conv_shortcut".
void write_breakable(Markup& page, const std::string& text) {
  constexpr size_t kUnbroken = 16;
  size_t word = 0, written = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') word = i + 1;
    const bool joins = std::string_view("/._:").find(text[i]) != std::string_view::npos;
    if (!joins || i + 1 >= text.size() || text[i + 1] == ' ') continue;
    if (std::min(text.find(' ', word), text.size()) - word <= kUnbroken) continue;
    page.text(std::string_view(text).substr(written, i + 1 - written));
    page.empty("wbr", {});
    written = i + 1;
  }
  page.text(std::string_view(text).substr(written));
}

void write_cell(Markup& page, const Column& column, const Cell& cell, double largest, bool heads_row) {
  Markup::Attributes attributes;
  std::string classes = css_class(column);
  if (heads_row) attributes.emplace_back("scope", "row");
  if (const double* number = std::get_if<double>(&cell)) {
    attributes.emplace_back("data-value", exact_text(*number));
    if (column.bars) {
      attributes.emplace_back("style", part_of(*number, largest));
      classes += " bar";
    }
  }
  const std::string full = cell_text(column, cell);
  const std::string shown = column.is_text ? with_short_names(full) : full;
  if (shown != full) attributes.emplace_back("title", full);
  attributes.emplace_back("class", classes);
  page.open(heads_row ? "th" : "td", attributes);
  if (column.is_text) {
    write_breakable(page, shown);
  } else {
    page.text(shown);
  }
  page.close();
}

void write_rows(Markup& page, const Table& table, const std::vector<double>& largest, size_t begin,
                size_t end) {
  // A text in the first column is the heading of its row.
  const bool row_heads = !table.columns.empty() && table.columns.front().is_text;
  page.open("div", {{"class", "scroll"}, {"tabindex", "0"}, {"role", "region"}, {"aria-label", table.title}});
  page.open("table");
  page.element("caption", {}, with_short_names(table.title) + (begin == 0 ? "" : ", continued"));
  write_head(page, table);
  page.open("tbody");
  for (size_t i = begin; i < end; ++i) {
    const Row& row = table.rows[i];
    page.line_break();
    page.open("tr", row.stands_out ? Markup::Attributes{{"class", "stands-out"}} : Markup::Attributes{});
    for (size_t c = 0; c < std::min(table.columns.size(), row.cells.size()); ++c)
      write_cell(page, table.columns[c], row.cells[c], largest[c], row_heads && c == 0);
    page.close();
  }
  for (int element = 0; element < 3; ++element) page.close();
}

/// The column's title. The group is added if another explained column has the same title.
std::string explained_title(const Column& column, const std::vector<const Column*>& explained) {
  const auto same_title = [&](const Column* other) { return other->title == column.title; };
  const bool alone = std::count_if(explained.begin(), explained.end(), same_title) == 1;
  return alone || column.group.empty() ? column.title : column.title + ", " + column.group;
}

/// Writes the explanations of columns. A column that repeats in several groups is explained once.
void write_explanations(Markup& page, const Table& table) {
  std::vector<const Column*> explained;
  for (const Column& column : table.columns) {
    const bool known = std::any_of(explained.begin(), explained.end(), [&](const Column* other) {
      return other->title == column.title && other->explanation == column.explanation;
    });
    if (!column.explanation.empty() && !known) explained.push_back(&column);
  }
  if (explained.empty()) return;
  page.open("details");
  page.element("summary", {}, "What the columns mean");
  page.open("dl");
  for (const Column* column : explained) {
    page.element("dt", {}, explained_title(*column, explained));
    page.element("dd", {}, column->explanation);
  }
  page.close();
  page.close();
}

/// "48 more rows, 2 of them in bold".
std::string words_for_the_rest(const Table& table, size_t shown) {
  const auto bold = std::count_if(table.rows.begin() + static_cast<std::ptrdiff_t>(shown), table.rows.end(),
                                  [](const Row& row) { return row.stands_out; });
  return std::to_string(table.rows.size() - shown) + " more rows" +
         (bold > 0 ? ", " + std::to_string(bold) + " of them in bold" : "");
}

// True if the table is too wide for a page in portrait.
bool is_wide(const Table& table) {
  return table.columns.size() > kWideColumns;
}

// Writes a table for a page. The rows beyond the first ones are folded. Cells of numbers carry the full
// number as `data-value`.
void write_html_table(Markup& page, const Table& table) {
  const std::vector<double> largest = largest_numbers(table);
  page.line_break();
  page.open("div", {{"class", "table"}});
  const size_t shown = std::min(table.rows.size(), kShownRows);
  write_rows(page, table, largest, 0, shown);
  if (shown < table.rows.size()) {
    page.open("details", {{"class", "continued"}});
    page.element("summary", {}, words_for_the_rest(table, shown));
    write_rows(page, table, largest, shown, table.rows.size());
    page.close();
  }
  write_explanations(page, table);
  page.close();
}

/// Content-Security-Policy of the page. It forbids loading anything, and any script but the page's own,
/// whatever texts the files contain. Styles are inline because tables set widths of bars in attributes.
std::string policy() {
  return "default-src 'none'; style-src 'unsafe-inline'; script-src '" + std::string(page_script_hash()) +
         "'; img-src data:";
}

void write_head(Markup& page, const std::string& title) {
  page.open("head");
  page.empty("meta", {{"charset", "utf-8"}});
  page.empty("meta", {{"http-equiv", "Content-Security-Policy"}, {"content", policy()}});
  page.empty("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}});
  page.empty("meta", {{"name", "color-scheme"}, {"content", "light dark"}});
  page.element("title", {}, title);
  page.open("style");
  page.insert(page_style());
  page.close();
  page.close();
}

std::string section_id(size_t number) {
  return "section-" + std::to_string(number);
}

/// Indices of the sections: open ones first, then folded ones.
std::vector<size_t> order_of(const Report& report) {
  std::vector<size_t> order(report.sections.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_partition(order.begin(), order.end(), [&](size_t i) { return !report.sections[i].folded; });
  return order;
}

void write_header(Markup& page, const Report& report) {
  page.open("header");
  page.element("h1", {}, report.title);
  page.open("nav", {{"aria-label", "Sections"}});
  page.open("ul");
  for (const size_t i : order_of(report)) {
    page.open("li");
    page.element("a", {{"href", "#" + section_id(i)}}, report.sections[i].title);
    page.close();
  }
  for (int element = 0; element < 3; ++element) page.close();
}

/// Common axis ranges of a part's charts, if they share axes.
std::optional<ChartRanges> common_ranges(const Part& part) {
  std::optional<ChartRanges> ranges;
  if (!part.same_axes) return ranges;
  for (const Chart& chart : part.charts)
    ranges = ranges ? united(*ranges, ranges_of(chart)) : ranges_of(chart);
  return ranges;
}

void write_words(Markup& page, const std::vector<std::string>& sentences, const char* css_class) {
  if (sentences.empty()) return;
  page.open("ul", {{"class", css_class}});
  for (const std::string& sentence : sentences) page.element("li", {}, with_short_names(sentence));
  page.close();
}

void write_part(Markup& page, const Part& part, size_t& drawings) {
  if (!part.heading.empty()) page.element("h3", {}, part.heading);
  write_words(page, part.sentences, "words");
  const std::optional<ChartRanges> ranges = common_ranges(part);
  for (const Chart& chart : part.charts) {
    page.line_break();
    page.open("figure");
    page.element("figcaption", {}, with_short_names(chart.title));
    page.open("div",
              {{"class", "scroll"}, {"tabindex", "0"}, {"role", "region"}, {"aria-label", chart.title}});
    const bool with_legend = !chart.compact || &chart == &part.charts.front();
    page.insert(
        svg_chart(chart, "drawing-" + std::to_string(drawings++), ranges ? &*ranges : nullptr, with_legend));
    page.close();
    page.close();
  }
  for (const Table& table : part.tables) write_html_table(page, table);
}

void write_headline(Markup& page, const Headline& headline) {
  if (headline.figures.empty()) return;
  page.line_break();
  page.open("div", {{"class", "by-figures"}});
  page.open("ul", {{"class", "figures"}});
  for (const KeyFigure& figure : headline.figures) {
    page.open("li", {{"class", kRoleColours[static_cast<size_t>(figure.colour_role)].name}});
    page.element("strong", {}, figure.text);
    page.element("span", {{"class", "what"}}, figure.what);
    page.element("div", {{"class", "by"}}, figure.basis);
    page.close();
  }
  page.close();
  page.element("p", {{"class", "headline"}}, headline.sentence);
  write_words(page, headline.basis, "words by");
  write_words(page, headline.beside, "words beside");
  page.close();
}

/// Class "wide" prints a section in landscape. It applies to the whole section, or the heading would stay on
/// the page before.
std::string section_class(const Section& section, bool first_folded) {
  std::string text = section.folded ? "folded" : "";
  if (first_folded) text += " first";
  for (const Part& part : section.parts) {
    if (std::any_of(part.tables.begin(), part.tables.end(), is_wide))
      return text + (text.empty() ? "wide" : " wide");
  }
  return text;
}

/// Writes a section. A folded one shows only its title until it is opened, but prints in full.
void write_section(Markup& page, const Section& section, const std::string& id, bool first_folded,
                   size_t& drawings) {
  page.line_break();
  Markup::Attributes attributes{{"id", id}, {"aria-labelledby", id + "-title"}};
  const std::string kind = section_class(section, first_folded);
  if (!kind.empty()) attributes.emplace_back("class", kind);
  page.open("section", attributes);
  if (section.folded) {
    page.open("details");
    page.open("summary");
  }
  page.element("h2", {{"id", id + "-title"}}, section.title);
  if (section.folded) page.close();
  for (const Part& part : section.parts) write_part(page, part, drawings);
  if (section.folded) page.close();
  page.close();
}

}  // namespace

std::string to_html(const Report& report) {
  Markup page;
  page.insert("<!DOCTYPE html>\n");
  page.open("html", {{"lang", "en"}});
  write_head(page, report.title);
  page.open("body");
  write_header(page, report);
  page.open("main");
  size_t drawings = 0;
  write_headline(page, report.headline);
  bool folded_before = false;
  for (const size_t i : order_of(report)) {
    const bool folded = report.sections[i].folded;
    write_section(page, report.sections[i], section_id(i), folded && !folded_before, drawings);
    folded_before = folded_before || folded;
  }
  page.close();
  page.element("footer", {}, "Made by headroom-report " HEADROOM_VERSION ".");
  page.open("script");
  page.insert(page_script());
  page.close();
  page.close();
  page.close();
  page.line_break();
  return page.take();
}

}  // namespace headroom::reports
