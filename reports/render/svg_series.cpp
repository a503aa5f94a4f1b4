#include "reports/render/svg_series.h"

#include <algorithm>
#include <cmath>

#include "reports/figures/chart_ranges.h"
#include "reports/render/svg_frame.h"

namespace headroom::reports {
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
