#include "reports/render/svg_rows.h"

#include <algorithm>
#include <cmath>

#include "reports/render/chart_ranges.h"
#include "reports/render/escape.h"
#include "reports/render/svg_frame.h"

namespace headroom::reports {
namespace {

constexpr size_t kMostRows = 300;
constexpr double kTallestRow = 24, kLowestRow = 8;
constexpr double kWholeHeight = 1150;  // of all rows, where rows can be lower: a printed page
constexpr double kWidestName = 330;

struct Rows {
  size_t count = 0;
  size_t bars = 0;  ///< that share the height of a row
  double height = kTallestRow;
  Box frame;
  double top_of(size_t row) const { return frame.top + double(row) * height; }
};

/// Names of all rows, or of every second or third where they are low.
void draw_names(Markup& svg, const Chart& chart, const Rows& rows) {
  const auto every = static_cast<size_t>(std::ceil((kLabelSize + 1) / rows.height));
  for (size_t i = 0; i < rows.count; ++i) {
    if (i % 2 == 1) {
      svg.empty("rect", {{"x", "0"},
                         {"y", coordinate(rows.top_of(i))},
                         {"width", coordinate(kDrawingWidth)},
                         {"height", coordinate(rows.height)},
                         {"class", "span odd"}});
    }
    if (i % every != 0) continue;
    draw_text(svg, rows.frame.left - 7, rows.top_of(i) + rows.height / 2 + 4.5,
              fitted_text(chart.categories[i], kWidestName), "end", "tick");
  }
}

/// The row of a point; none where it is no category.
bool row_of(double x, const Rows& rows, size_t& row) {
  if (!(x >= -0.5) || !(x < double(rows.count) - 0.5)) return false;
  row = static_cast<size_t>(std::lround(x));
  return true;
}

/// Series number `number` of the chart; of bars, the one that is the `bar`th in each row.
void draw_row_series(Markup& svg, const Chart& chart, size_t number, const Rows& rows, const Scale& values,
                     size_t bar) {
  const Series& series = chart.series[number];
  const double ground = values.position(chart.y.logarithmic ? values.range().least : 0);
  const double thickness = rows.height * 0.8 / double(std::max<size_t>(rows.bars, 1));
  for (size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i) {
    size_t row = 0;
    if (!row_of(series.x[i], rows, row) || !can_be_drawn(chart.y, series.y[i])) continue;
    const double end = values.position(series.y[i]);
    if (series.mark == Mark::bars) {
      svg.open("rect", {{"x", coordinate(std::min(ground, end))},
                        {"y", coordinate(rows.top_of(row) + rows.height * 0.1 + thickness * double(bar))},
                        {"width", coordinate(std::abs(end - ground))},
                        {"height", coordinate(thickness)},
                        {"class", fill_class(series.colour_role)}});
    } else {
      svg.open("path", {{"d", marker_path(end, rows.top_of(row) + rows.height / 2, number)},
                        {"class", fill_class(series.colour_role) + " mark"}});
    }
    svg.element("title", {},
                chart.categories[row] + ", " + series.name + ": " + format(chart.y.unit, series.y[i]));
    svg.close();
  }
}

/// A line for a value, with its words above the rows.
void draw_row_guide(Markup& svg, const Chart& chart, const Guide& guide, const Rows& rows,
                    const Scale& values, LabelPlacer& labels) {
  if (guide.vertical || !can_be_drawn(chart.y, guide.at)) return;  // at a category: the rows have names
  const double at = values.position(guide.at);
  const bool inside = values.holds(guide.at);
  const std::string text = fitted_text(guide.label, rows.frame.width()) + (inside ? "" : " →");
  if (inside)
    draw_line(svg, at, rows.frame.top, at, rows.frame.bottom, line_class(guide.colour_role) + " guide");
  const double width = bold_width(text), y = rows.frame.top - 5;
  const Box box = labels.place({label_box(at - width - 4, y, width), label_box(at + 4, y, width),
                                label_box(at - width - 4, y - kLineHeight, width)});
  draw_label(svg, box, text, "label guide-label");
}

void draw_row_note(Markup& svg, const Chart& chart, const Note& note, const Rows& rows, const Scale& values,
                   LabelPlacer& labels) {
  size_t row = 0;
  if (!row_of(note.x, rows, row) || !can_be_drawn(chart.y, note.y)) return;
  const std::string text = fitted_text(note.text, rows.frame.width() / 2);
  const double width = bold_width(text), end = values.position(note.y);
  const double y = rows.top_of(row) + rows.height / 2 + 4.5;
  draw_label(svg, labels.place({label_box(end + 8, y, width), label_box(end - width - 8, y, width)}), text,
             "label note");
}

}  // namespace

std::string svg_rows(const Chart& chart, const std::string& id, const std::string& description) {
  Markup inner;
  Rows rows;
  rows.count = std::min(chart.categories.size(), kMostRows);
  rows.height = std::clamp(kWholeHeight / double(rows.count), kLowestRow, kTallestRow);
  double names = 0;
  for (size_t i = 0; i < rows.count; ++i)
    names = std::max(names, text_width(fitted_text(chart.categories[i], kWidestName)));
  std::vector<LegendEntry> legend;
  for (size_t i = 0; i < chart.series.size(); ++i) {
    legend.push_back({chart.series[i].name, chart.series[i].colour_role, chart.series[i].mark, i});
    if (chart.series[i].mark == Mark::bars) ++rows.bars;
  }
  const double left = std::max(46.0, names + 12);
  const auto guides = double(chart.guides.size());
  const double top = draw_legend(inner, legend, left, 0) + 8 + kLineHeight * std::min(guides, 3.0);
  rows.frame = {left, top, kDrawingWidth - 24, top + rows.height * double(rows.count)};
  const Scale values(ranges_of(chart).y, chart.y.logarithmic, rows.frame.left, rows.frame.right);
  LabelPlacer labels({rows.frame.left, 0, kDrawingWidth, rows.frame.bottom});
  labels.take({0, 0, kDrawingWidth, top - kLineHeight * std::min(guides, 3.0) - 6});  // the legend
  draw_names(inner, chart, rows);
  for (const Tick& tick : ticks_that_fit(chart.y, values, rows.frame.width())) {
    const double x = values.position(tick.at);
    draw_line(inner, x, rows.frame.top, x, rows.frame.bottom, "grid");
    draw_text(inner, x, rows.frame.bottom + 18, tick.label, "middle", "tick");
  }
  size_t bar = 0;
  for (size_t i = 0; i < chart.series.size(); ++i) {
    draw_row_series(inner, chart, i, rows, values, bar);
    if (chart.series[i].mark == Mark::bars) ++bar;
  }
  draw_line(inner, rows.frame.left, rows.frame.top, rows.frame.left, rows.frame.bottom, "axis");
  for (const Guide& guide : chart.guides) draw_row_guide(inner, chart, guide, rows, values, labels);
  for (const Note& note : chart.notes) draw_row_note(inner, chart, note, rows, values, labels);
  const double words = rows.frame.bottom + 36;
  draw_text(inner, rows.frame.right, words, axis_text(chart.y), "end", "axis-title");
  if (rows.count < chart.categories.size()) {
    draw_text(inner, 0, words,
              "the first " + std::to_string(rows.count) + " of " + std::to_string(chart.categories.size()) +
                  "; the table has all",
              "start", "axis-title");
  }
  Markup svg;
  open_drawing(svg, id, chart.title, description, words + 8);
  svg.insert(inner.take());
  svg.close();
  return svg.take();
}

}  // namespace headroom::reports
