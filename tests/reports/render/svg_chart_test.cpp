#include "reports/render/svg_chart.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <sstream>

#include "reports/render/page_style.h"
#include "tests/reports/render/page_reader.h"

namespace headroom::reports {
namespace {

using test::Element;
using test::PageReader;

constexpr double kMiB = 1048576;

std::unique_ptr<Element> drawn(const Chart& chart) {
  auto page = PageReader::read(svg_chart(chart, "d"));
  REQUIRE(page->children.size() == 1);
  REQUIRE(page->children[0]->name == "svg");
  return page;
}

/// All elements whose class has this word.
std::vector<const Element*> with_class(const Element& root, const std::string& name,
                                       const std::string& word) {
  std::vector<const Element*> found;
  for (const Element* element : root.all(name)) {
    if ((" " + element->attribute("class") + " ").find(" " + word + " ") != std::string::npos)
      found.push_back(element);
  }
  return found;
}

double number(const Element& element, const char* key) {
  return std::stod(element.attribute(key));
}

const Element& text_that_says(const Element& root, const std::string& words) {
  for (const Element* text : root.all("text")) {
    if (text->own_text == words) return *text;
  }
  throw std::runtime_error("no text " + words);
}

/// About where a text stands, whichever its anchor.
Box box_of(const Element& text) {
  const double width = text_width(text.own_text) * 0.8;  // estimates err on the wide side
  const std::string anchor = text.attribute("text-anchor");
  const double left = number(text, "x") - (anchor == "end" ? width : anchor == "middle" ? width / 2 : 0);
  return {left, number(text, "y") - 11, left + width, number(text, "y") + 2};
}

/// Every coordinate of a path's points, "M1 2H3V4L5 6".
struct PathPoint {
  double x, y;
};
std::vector<PathPoint> points_of(const std::string& path) {
  std::vector<PathPoint> points;
  std::istringstream in(path);
  double x = 0, y = 0;
  for (char command = 0; in >> command;) {
    if (command == 'Z') break;
    if (command == 'M' || command == 'L') {
      in >> x >> y;
    } else if (command == 'H') {
      in >> x;
    } else if (command == 'V') {
      in >> y;
    } else {
      FAIL("unknown command in " << path);
    }
    points.push_back({x, y});
  }
  return points;
}

/// y of the path where it is held at x; the last of several.
double height_at(const std::vector<PathPoint>& points, double x) {
  double y = std::nan("");
  for (const PathPoint& point : points) {
    if (point.x <= x + 1e-9) y = point.y;
  }
  return y;
}

Chart memory_chart() {
  Chart chart;
  chart.title = "Memory";
  chart.x = {"time", Unit::seconds};
  chart.y = {"memory", Unit::bytes};
  chart.series = {
      {"weights", Mark::area, ColourRole::weights, {0, 10}, {100 * kMiB, 100 * kMiB}},
      {"tiles", Mark::area, ColourRole::tile, {0, 2, 6, 10}, {0, 300 * kMiB, 50 * kMiB, 50 * kMiB}}};
  chart.guides = {{"limit 512.0 MiB", 512 * kMiB}};
  chart.notes = {{2, 400 * kMiB, "peak 400.0 MiB"}};
  chart.spans = {
      {0, 5, "conv_in"}, {5, 5.1, "a pass with a name far too long for its band"}, {5.1, 10, "conv_out"}};
  return chart;
}

TEST_CASE("svg: areas stand on one another at the heights of their axis") {
  const auto page = drawn(memory_chart());
  const Element& svg = *page->children[0];
  const auto areas = with_class(svg, "path", "area");
  REQUIRE(areas.size() == 2);
  // From the top of the stack down: tiles on weights first.
  CHECK(areas[0]->attribute("class") == "area fill-tile");
  const auto upper = points_of(areas[0]->attribute("d")), lower = points_of(areas[1]->attribute("d"));
  const double ground = upper.back().y;
  const double limit = number(*with_class(svg, "line", "guide").at(0), "y1");
  const double per_mib = (ground - limit) / 512;
  const double left = upper.front().x, width = upper[upper.size() - 2].x - left;
  const auto height = [&](const std::vector<PathPoint>& area, double seconds) {
    return (ground - height_at({area.begin(), area.end() - 2}, left + width * seconds / 10)) / per_mib;
  };
  CHECK(height(lower, 1) == Approx(100).margin(0.5));
  CHECK(height(lower, 9) == Approx(100).margin(0.5));
  CHECK(height(upper, 1) == Approx(100).margin(0.5));
  CHECK(height(upper, 2.1) == Approx(400).margin(0.5));
  CHECK(height(upper, 5.9) == Approx(400).margin(0.5));
  CHECK(height(upper, 6.1) == Approx(150).margin(0.5));
  // The note stands at the peak.
  const Element& circle = svg.first("circle");
  CHECK(number(circle, "cx") == Approx(left + width * 0.2).margin(0.2));
  CHECK((ground - number(circle, "cy")) / per_mib == Approx(400).margin(0.5));
  // Bands for passes, a name where it fits, all names as tooltips.
  const auto spans = with_class(svg, "rect", "span");
  REQUIRE(spans.size() == 3);
  CHECK(number(*spans[1], "x") == Approx(left + width / 2).margin(0.2));
  CHECK(spans[1]->first("title").own_text == "a pass with a name far too long for its band");
  CHECK(with_class(svg, "text", "span-name").size() == 2);
  CHECK(svg.first("desc").own_text.find("limit 512.0 MiB") != std::string::npos);
  CHECK(svg.attribute("aria-labelledby") == "d-title d-desc");
}

TEST_CASE("svg: many thousand points stay small, and keep the peak and what is held after it") {
  Chart chart;
  chart.x = {"time", Unit::seconds};
  chart.y = {"memory", Unit::bytes};
  constexpr size_t kPoints = 200'000, kSpike = 77'777;
  for (const Mark mark : {Mark::area, Mark::area, Mark::steps}) {
    Series series{"s" + std::to_string(chart.series.size()), mark, ColourRole::tile, {}, {}};
    for (size_t i = 0; i < kPoints; ++i) {
      series.x.push_back(double(i));
      series.y.push_back(i == kSpike ? 1e9 : 9e6 * double(i % 97));
    }
    chart.series.push_back(std::move(series));
  }
  const std::string svg = svg_chart(chart, "d");
  CHECK(svg.size() < 300'000);
  const auto page = PageReader::read(svg);
  const auto areas = with_class(*page, "path", "area");
  const auto points = points_of(areas.at(0)->attribute("d"));
  const auto highest = std::min_element(points.begin(), points.end(),
                                        [](const PathPoint& a, const PathPoint& b) { return a.y < b.y; });
  const double left = points.front().x, right = points[points.size() - 3].x;
  CHECK(highest->x == Approx(left + (right - left) * kSpike / kPoints).margin(1.5));
  for (const Element* line : with_class(*page, "path", "line")) {
    const auto line_points = points_of(line->attribute("d"));
    const auto top = std::min_element(line_points.begin(), line_points.end(),
                                      [](const PathPoint& a, const PathPoint& b) { return a.y < b.y; });
    CHECK(top->x == Approx(highest->x).margin(1.5));
  }

  // A short spike before a long interval of nothing: the interval is drawn low.
  Chart spike = memory_chart();
  spike.series = {{"tiles", Mark::area, ColourRole::tile, {0, 1, 1.0001, 10}, {0, 300 * kMiB, 0, 0}}};
  const auto low = drawn(spike);
  const auto path = points_of(with_class(*low, "path", "area").at(0)->attribute("d"));
  CHECK(height_at({path.begin(), path.end() - 2}, path.front().x + 400) == path.back().y);
}

TEST_CASE("svg: labels of guides and notes keep out of each other's way and inside the drawing") {
  Chart chart = memory_chart();
  for (int i = 0; i < 5; ++i) {
    chart.guides.push_back({"guide number " + std::to_string(i) + " with some words", (500 + i) * kMiB});
    chart.guides.push_back({"moment " + std::to_string(i), 9.5 + i / 20.0, true});
    chart.notes.push_back({9.99, (399 + i) * kMiB, "a note at the right edge, number " + std::to_string(i)});
  }
  const auto page = drawn(chart);
  std::vector<const Element*> labels = with_class(*page, "text", "label");
  // Labels of the legend.
  std::erase_if(labels, [](const Element* text) { return text->attribute("class") == "label"; });
  CHECK(labels.size() >= 17);
  for (size_t i = 0; i < labels.size(); ++i) {
    const Box box = box_of(*labels[i]);
    CAPTURE(labels[i]->own_text, box.left, box.right, box.top);
    CHECK(box.left >= 0);
    CHECK(box.right <= kDrawingWidth);
    CHECK(box.top >= 0);
    for (size_t other = 0; other < i; ++other) {
      CAPTURE(labels[other]->own_text);
      CHECK_FALSE(overlap(box, box_of(*labels[other])));
    }
  }
}

TEST_CASE("svg: a limit far above the chart is named and presses nothing together") {
  Chart chart = memory_chart();
  chart.guides = {{"limit 80.00 GiB", 80 * 1024 * kMiB}};
  const auto page = drawn(chart);
  CHECK(with_class(*page, "line", "guide").empty());
  CHECK_NOTHROW(text_that_says(*page, "limit 80.00 GiB ↑"));
  CHECK_NOTHROW(text_that_says(*page, "384 MiB"));
}

TEST_CASE("svg: numbers that cannot be drawn leave no trace") {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(),
                   kInf = std::numeric_limits<double>::infinity();
  for (const bool logarithmic : {false, true}) {
    for (const Mark mark : {Mark::area, Mark::line, Mark::steps, Mark::points}) {
      for (const std::vector<double>& y : {std::vector<double>{},
                                           {kNan, 1, kInf, -kInf},
                                           {0, 0, 0, 0},
                                           {-5, -5, 3, 0},
                                           {1e300, 1e-300, 0, 5}}) {
        Chart chart = memory_chart();
        chart.x.logarithmic = chart.y.logarithmic = logarithmic;
        chart.series = {{"s", mark, ColourRole::tile, {0, 1, 1, 1e6}, y}};
        chart.series[0].x.resize(y.size());
        chart.guides.push_back({"nowhere", kNan});
        chart.notes.push_back({kNan, 1, "nothing"});
        const std::string svg = svg_chart(chart, "d");
        CAPTURE(logarithmic, static_cast<int>(mark), y);
        CHECK_NOTHROW(PageReader::read(svg));
        CHECK(svg.find("nan") == std::string::npos);
        CHECK(svg.find("inf") == std::string::npos);
      }
    }
  }
}

/// Contrast of two colours "#rrggbb" as WCAG 2 defines it.
double contrast(const std::string& a, const std::string& b) {
  const auto luminance = [](const std::string& colour) {
    double sum = 0;
    const double weights[] = {0.2126, 0.7152, 0.0722};
    for (size_t i = 0; i < 3; ++i) {
      const double c = std::stoi(colour.substr(1 + 2 * i, 2), nullptr, 16) / 255.0;
      sum += weights[i] * (c <= 0.03928 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4));
    }
    return sum;
  };
  const double first = luminance(a), second = luminance(b);
  return (std::max(first, second) + 0.05) / (std::min(first, second) + 0.05);
}

TEST_CASE("svg: every ink is a class with a colour that stands out in each theme") {
  const std::string style(page_style());
  const size_t first = style.find(":root {");
  const std::string light = style.substr(first, style.find('}', first) - first);
  size_t themes = 0;
  for (size_t at = first; at != std::string::npos; at = style.find(":root {", at + 1), ++themes) {
    // The print theme has the light theme's colours, except for colours that it sets itself.
    const std::string theme = style.substr(at, style.find('}', at) - at) + light;
    const auto colour = [&](const std::string& name) {
      const size_t found = theme.find("--" + name + ": #");
      REQUIRE(found != std::string::npos);
      return theme.substr(found + name.size() + 4, 7);
    };
    for (int colour_role = 0; colour_role <= static_cast<int>(ColourRole::other); ++colour_role) {
      const std::string name = fill_class(static_cast<ColourRole>(colour_role)).substr(5);
      CAPTURE(themes, name);
      CHECK(contrast(colour(name), colour("paper")) >= 3);
      CHECK(style.find(".fill-" + name + " {") != std::string::npos);
      CHECK(style.find(".line-" + name + " {") != std::string::npos);
    }
    for (const char* text : {"ink", "muted", "link"}) CHECK(contrast(colour(text), colour("paper")) >= 4.5);
    for (const char* ground : {"bar", "stands-out", "shade"})
      CHECK(contrast(colour("ink"), colour(ground)) >= 4.5);
    CHECK(contrast(colour("limit"), colour("paper")) >= 4.5);  // its labels are of this colour
  }
  CHECK(themes == 3);
}

}  // namespace
}  // namespace headroom::reports
