#include <algorithm>
#include <numeric>

#include "decoder/base/short_name.h"
#include "reports/figures/colours.h"
#include "reports/render/html_table.h"
#include "reports/render/page_script.h"
#include "reports/render/page_style.h"
#include "reports/render/report.h"
#include "reports/render/svg_chart.h"

namespace headroom::reports {
namespace {

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
