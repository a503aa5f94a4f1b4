#include "reports/render/svg_chart.h"

#include <algorithm>

#include "reports/render/escape.h"
#include "reports/render/svg_frame.h"
#include "reports/render/svg_series.h"

namespace headroom::reports {
namespace {

constexpr double kPlotHeight = 300, kCompactPlotHeight = 100;
constexpr double kStripHeight = 12;
constexpr double kGap = 7;  // between a point and its label

/// Text of <desc> for screen readers: describes the drawing.
std::string description(const Chart& chart) {
  std::string text = axis_text(chart.y) + " against " + axis_text(chart.x) + ".";
  for (const Series& series : chart.series) {
    text += " " + series.name;
    const auto highest = std::max_element(series.y.begin(), series.y.end());
    if (highest != series.y.end()) text += ", at most " + format(chart.y.unit, *highest);
    text += ".";
  }
  for (const Guide& guide : chart.guides) text += " " + guide.label + ".";
  for (const Note& note : chart.notes) text += " " + note.text + ".";
  return text;
}

std::vector<LegendEntry> legend_of(const Chart& chart) {
  std::vector<LegendEntry> entries;
  for (size_t i = 0; i < chart.series.size(); ++i)
    entries.push_back({chart.series[i].name, chart.series[i].colour_role, chart.series[i].mark, i});
  if (chart.strip) entries.push_back({chart.strip->name, chart.strip->colour_role, Mark::area, 0});
  return entries;
}

/// `foot` is the height between the plot and the labels of its x axis.
void draw_grid(Markup& svg, const Plane& plane, const Box& frame, double foot) {
  const size_t most = frame.height() < kPlotHeight ? 3 : 6;
  for (const Tick& tick : ticks(plane.y_axis.unit, plane.y.range(), plane.y_axis.logarithmic, most)) {
    const double y = plane.y.position(tick.at);
    draw_line(svg, frame.left, y, frame.right, y, "grid");
    draw_text(svg, frame.left - 7, y + 4.5, tick.label, "end", "tick");
  }
  for (const Tick& tick : ticks_that_fit(plane.x_axis, plane.x, frame.width())) {
    const double x = plane.x.position(tick.at);
    draw_line(svg, x, frame.top, x, frame.bottom, "grid");
    const double half = text_width(tick.label) / 2;
    draw_text(svg, std::min(x, kDrawingWidth - half), frame.bottom + foot + 18, tick.label, "middle", "tick");
  }
}

/// Passes as bands behind the series, every second one shaded.
void draw_spans(Markup& svg, const Chart& chart, const Plane& plane, const Box& frame) {
  for (size_t i = 0; i < chart.spans.size(); ++i) {
    const double left = plane.x.position(chart.spans[i].begin);
    const double right = plane.x.position(chart.spans[i].end);
    svg.open("rect", {{"x", coordinate(left)},
                      {"y", coordinate(frame.top)},
                      {"width", coordinate(std::max(0.0, right - left))},
                      {"height", coordinate(frame.height())},
                      {"class", i % 2 == 0 ? "span" : "span odd"}});
    svg.element("title", {}, chart.spans[i].name);
    svg.close();
  }
}

void name_spans(Markup& svg, const Chart& chart, const Plane& plane, const Box& frame, LabelPlacer& labels) {
  for (const Span& span : chart.spans) {
    const double left = plane.x.position(span.begin), width = plane.x.position(span.end) - left;
    const std::string name = fitted_name(span.name, width - 6, kLabelSize - 2);
    if (name.empty()) continue;
    draw_text(svg, left + 4, frame.top + 13, name, "start", "span-name");
    labels.take({left, frame.top, left + width, frame.top + 18});
  }
}

/// Draws a guide. The label of a guide beyond the chart is at the edge, with an arrow.
void draw_guide(Markup& svg, const Guide& guide, const Plane& plane, const Box& frame, LabelPlacer& labels) {
  if (!can_be_drawn(guide.vertical ? plane.x_axis : plane.y_axis, guide.at)) return;
  const Scale& scale = guide.vertical ? plane.x : plane.y;
  const bool inside = scale.holds(guide.at), above = guide.at > scale.range().most;
  const double at = scale.position(guide.at);
  std::string text = fitted_text(guide.label, frame.width() - 40);
  if (!inside) text += guide.vertical ? (above ? " →" : " ←") : (above ? " ↑" : " ↓");
  const double width = bold_width(text);
  if (inside && guide.vertical)
    draw_line(svg, at, frame.top, at, frame.bottom, line_class(guide.colour_role) + " guide");
  if (inside && !guide.vertical)
    draw_line(svg, frame.left, at, frame.right, at, line_class(guide.colour_role) + " guide");
  const double end = frame.right - width - 6, middle = (frame.left + frame.right - width) / 2;
  const double top = frame.top + kLabelSize + 2;
  const Box box =
      guide.vertical
          ? labels.place({label_box(at + kGap, top, width), label_box(at - kGap - width, top, width),
                          label_box(at + kGap, top + kLineHeight, width),
                          label_box(at - kGap - width, top + kLineHeight, width)})
          : labels.place({label_box(end, at - 5, width), label_box(frame.left + 6, at - 5, width),
                          label_box(middle, at - 5, width), label_box(end, at + kLineHeight - 2, width),
                          label_box(frame.left + 6, at + kLineHeight - 2, width)});
  draw_label(svg, box, text, "label guide-label");
}

void draw_note(Markup& svg, const Note& note, const Plane& plane, const Box& frame, LabelPlacer& labels) {
  if (!can_be_drawn(plane.x_axis, note.x) || !can_be_drawn(plane.y_axis, note.y)) return;
  const double x = plane.x.position(note.x), y = plane.y.position(note.y);
  svg.empty("circle", {{"cx", coordinate(x)}, {"cy", coordinate(y)}, {"r", "4.5"}, {"class", "note-point"}});
  const std::string text = fitted_text(note.text, frame.width() - 20);
  const double width = bold_width(text);
  const double right = x + kGap + 2, left = x - kGap - 2 - width, above = y - kGap - 1, below = y + kGap + 11;
  const Box box = labels.place({label_box(right, above, width), label_box(left, above, width),
                                label_box(right, below, width), label_box(left, below, width),
                                label_box(x - width / 2, above - kLineHeight, width),
                                label_box(x - width / 2, below + kLineHeight, width)});
  draw_label(svg, box, text, "label note");
}

/// Makes labels avoid lines and guides if there is room elsewhere.
void keep_clear(const Chart& chart, const Plane& plane, const Box& frame, LabelPlacer& labels) {
  constexpr double kApart = 8;  // distance of avoided boxes along a line
  for (const Series& series : chart.series) {
    if (series.mark == Mark::area || series.x.size() > 60) continue;
    for (size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i) {
      const double x = plane.x.position(series.x[i]), y = plane.y.position(series.y[i]);
      labels.avoid({x - 4, y - 4, x + 4, y + 4});
      if (series.mark != Mark::line || i == 0) continue;
      const double before_x = plane.x.position(series.x[i - 1]), before_y = plane.y.position(series.y[i - 1]);
      for (double at = before_x; at < x; at += kApart) {
        const double on_line = before_y + (y - before_y) * (at - before_x) / (x - before_x);
        labels.avoid({at - 2, on_line - 2, at + 2, on_line + 2});
      }
    }
  }
  for (const Guide& guide : chart.guides) {
    if (!(guide.vertical ? plane.x : plane.y).holds(guide.at)) continue;
    const double x = plane.x.position(guide.at), y = plane.y.position(guide.at);
    labels.avoid(guide.vertical ? Box{x - 1, frame.top, x + 1, frame.bottom}
                                : Box{frame.left, y - 1, frame.right, y + 1});
  }
}

/// Draws a strip below the plot. Its height in each interval is the interval's share.
void draw_strip(Markup& svg, const Strip& strip, const Plane& plane, const Box& frame) {
  const double ground = frame.bottom + 2 + kStripHeight;
  std::string path;
  for (size_t i = 0; i < strip.share.size(); ++i) {
    const std::string left = coordinate(plane.x.position(strip.x[i]));
    const std::string top = coordinate(ground - kStripHeight * strip.share[i]);
    path += (path.empty() ? "M" + left + " " + coordinate(ground) : "H" + left) + "V" + top;
  }
  if (path.empty()) return;
  path += "H" + coordinate(plane.x.position(strip.x.back())) + "V" + coordinate(ground) + "Z";
  svg.open("path", {{"d", path}, {"class", fill_class(strip.colour_role)}});
  svg.element("title", {}, strip.name);
  svg.close();
}

double widest_label(const ChartAxis& axis, Range range) {
  double widest = 0;
  for (const Tick& tick : ticks(axis.unit, range, axis.logarithmic, 6))
    widest = std::max(widest, text_width(tick.label));
  return widest;
}

}  // namespace

std::string svg_chart(const Chart& chart, const std::string& id, const ChartRanges* axes, bool with_legend) {
  const ChartRanges ranges = axes != nullptr ? *axes : ranges_of(chart);
  Markup inner;
  const double left = std::max(46.0, widest_label(chart.y, ranges.y) + 12);
  const double legend = with_legend ? draw_legend(inner, legend_of(chart), left, 0) : 0;
  const double top = legend + kLineHeight + 8;
  const Box frame{left, top, kDrawingWidth - 12, top + (chart.compact ? kCompactPlotHeight : kPlotHeight)};
  const double foot = chart.strip ? kStripHeight + 2 : 0, title = chart.compact ? 0 : 18;
  const Plane plane{chart.x, chart.y, Scale(ranges.x, chart.x.logarithmic, frame.left, frame.right),
                    Scale(ranges.y, chart.y.logarithmic, frame.bottom, frame.top)};
  LabelPlacer labels(frame);
  draw_text(inner, left, top - 8, axis_text(chart.y), "start", "axis-title");
  if (!chart.compact)
    draw_text(inner, frame.right, frame.bottom + foot + 36, axis_text(chart.x), "end", "axis-title");
  draw_spans(inner, chart, plane, frame);
  draw_grid(inner, plane, frame, foot);
  draw_areas(inner, chart, plane);
  for (size_t i = 0; i < chart.series.size(); ++i) {
    if (chart.series[i].mark != Mark::area) draw_series(inner, chart.series[i], plane, i);
  }
  draw_line(inner, frame.left, frame.bottom, frame.right, frame.bottom, "axis");
  if (chart.strip) draw_strip(inner, *chart.strip, plane, frame);
  name_spans(inner, chart, plane, frame, labels);
  keep_clear(chart, plane, frame, labels);
  for (const Guide& guide : chart.guides) draw_guide(inner, guide, plane, frame, labels);
  for (const Note& note : chart.notes) draw_note(inner, note, plane, frame, labels);
  Markup svg;
  open_drawing(svg, id, chart.title, description(chart), frame.bottom + foot + 26 + title);
  svg.insert(inner.take());
  svg.close();
  return svg.take();
}

}  // namespace headroom::reports
