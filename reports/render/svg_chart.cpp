#include "reports/render/svg_chart.h"

#include <algorithm>
#include <cmath>

#include "reports/figures/chart.h"
#include "reports/render/markup.h"

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

namespace {

/// More marks than this would hide their line, and each has words of its own.
constexpr size_t kMostMarks = 120;

struct Point {
  double x = 0;
  double y = 0;
};

/// Thins out a step curve to at most two points per unit of the drawing's width. Keeps the highest point,
/// which has the smallest y, and the last one, which holds from there. So peaks stay.
std::vector<Point> thinned_steps(const std::vector<Point>& points) {
  std::vector<Point> kept;
  for (size_t i = 0; i < points.size();) {
    size_t end = i;
    Point highest = points[i];
    for (; end < points.size() && std::floor(points[end].x) == std::floor(points[i].x); ++end)
      highest.y = std::min(highest.y, points[end].y);
    kept.push_back(highest);
    if (points[end - 1].y != highest.y) kept.push_back(points[end - 1]);
    i = end;
  }
  return kept;
}

/// "M0 10H5V20H30": each point is held until the next, the last one until `end_x`.
std::string steps_path(const std::vector<Point>& points, double end_x) {
  std::string path, held;
  for (const Point& point : points) {
    const std::string y = coordinate(point.y);
    if (path.empty()) {
      path = "M" + coordinate(point.x) + " " + y;
    } else if (y != held) {
      path += "H" + coordinate(point.x) + "V" + y;
    }
    held = y;
  }
  return path + "H" + coordinate(end_x);
}

std::string line_path(const std::vector<Point>& points) {
  std::string path;
  for (const Point& point : points)
    path += (path.empty() ? "M" : "L") + coordinate(point.x) + " " + coordinate(point.y);
  return path;
}

std::string point_text(const Series& series, const Plane& plane, size_t i) {
  return series.name + ": " + format(plane.x_axis.unit, series.x[i]) + ", " +
         format(plane.y_axis.unit, series.y[i]);
}

/// Indices of the points that can be drawn.
std::vector<size_t> drawn_points(const Series& series, const Plane& plane) {
  std::vector<size_t> drawn;
  for (size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i) {
    if (can_be_drawn(plane.x_axis, series.x[i]) && can_be_drawn(plane.y_axis, series.y[i]))
      drawn.push_back(i);
  }
  return drawn;
}

void draw_marks(Markup& svg, const Series& series, const Plane& plane, const std::vector<size_t>& drawn,
                size_t shape) {
  for (const size_t i : drawn) {
    const std::string path = marker_path(plane.x.position(series.x[i]), plane.y.position(series.y[i]), shape);
    svg.open("path", {{"d", path}, {"class", fill_class(series.colour_role) + " mark"}});
    svg.element("title", {}, point_text(series, plane, i));
    svg.close();
  }
}

}  // namespace

void draw_areas(Markup& svg, const Chart& chart, const Plane& plane) {
  const Stack stack = stacked_areas(chart);
  if (stack.x.empty()) return;
  std::vector<const Series*> areas;
  for (const Series& series : chart.series) {
    if (series.mark == Mark::area) areas.push_back(&series);
  }
  // An area ends at its last point. A single moment reaches to the end of the axis.
  const double end = stack.x.size() > 1 ? stack.x.back() : plane.x.range().most;
  const double ground = plane.y.position(0), right = plane.x.position(end);
  // Draws each area down to the x axis, from the top of the stack. Lower areas cover higher ones, so no path
  // follows the area below.
  for (size_t area = areas.size(); area-- > 0;) {
    std::vector<Point> points;
    for (size_t i = 0; i < stack.x.size(); ++i)
      points.push_back({plane.x.position(stack.x[i]), plane.y.position(stack.tops[area][i])});
    points = thinned_steps(points);
    const std::string path =
        steps_path(points, right) + "V" + coordinate(ground) + "H" + coordinate(points.front().x) + "Z";
    svg.empty("path", {{"d", path}, {"class", "area " + fill_class(areas[area]->colour_role)}});
  }
}

void draw_series(Markup& svg, const Series& series, const Plane& plane, size_t shape) {
  const std::vector<size_t> drawn = drawn_points(series, plane);
  if (drawn.empty()) return;
  std::vector<Point> points;
  points.reserve(drawn.size());
  for (const size_t i : drawn)
    points.push_back({plane.x.position(series.x[i]), plane.y.position(series.y[i])});
  if (series.mark == Mark::steps) {
    svg.empty("path", {{"d", steps_path(thinned_steps(points), plane.x.position(plane.x.range().most))},
                       {"class", line_class(series.colour_role)}});
    return;
  }
  if (series.mark == Mark::line) {
    svg.empty("path", {{"d", line_path(points)}, {"class", line_class(series.colour_role)}});
  }
  if (series.mark == Mark::points || drawn.size() <= kMostMarks) draw_marks(svg, series, plane, drawn, shape);
}

}  // namespace headroom::reports
