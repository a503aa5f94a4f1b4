#include "reports/render/svg_frame.h"

#include <algorithm>

#include "reports/figures/colours.h"
#include "reports/render/escape.h"

namespace headroom::reports {
namespace {

constexpr double kSwatch = 22;

const char* name_of(ColourRole colour_role) {
  return kRoleColours[static_cast<size_t>(colour_role)].name;
}

void draw_swatch(Markup& svg, const LegendEntry& entry, double x, double middle) {
  if (entry.mark == Mark::area) {
    svg.empty("rect", {{"x", coordinate(x)},
                       {"y", coordinate(middle - 6)},
                       {"width", coordinate(kSwatch - 6)},
                       {"height", "12"},
                       {"class", fill_class(entry.colour_role)}});
    return;
  }
  if (entry.mark != Mark::points)
    draw_line(svg, x, middle, x + kSwatch, middle, line_class(entry.colour_role));
  if (entry.mark != Mark::steps) {
    svg.empty("path", {{"d", marker_path(x + kSwatch / 2, middle, entry.shape)},
                       {"class", fill_class(entry.colour_role)}});
  }
}

}  // namespace

std::string fill_class(ColourRole colour_role) {
  return std::string("fill-") + name_of(colour_role);
}

std::string line_class(ColourRole colour_role) {
  return std::string("line line-") + name_of(colour_role);
}

void open_drawing(Markup& svg, const std::string& id, const std::string& title,
                  const std::string& description, double height) {
  svg.open("svg", {{"viewBox", "0 0 " + coordinate(kDrawingWidth) + " " + coordinate(height)},
                   {"role", "img"},
                   {"aria-labelledby", id + "-title " + id + "-desc"}});
  svg.element("title", {{"id", id + "-title"}}, title);
  svg.element("desc", {{"id", id + "-desc"}}, description);
}

void draw_text(Markup& svg, double x, double y, const std::string& text, const char* anchor,
               const std::string& css_class) {
  Markup::Attributes attributes{{"x", coordinate(x)}, {"y", coordinate(y)}, {"class", css_class}};
  if (std::string(anchor) != "start") attributes.emplace_back("text-anchor", anchor);
  svg.element("text", attributes, text);
}

void draw_line(Markup& svg, double x1, double y1, double x2, double y2, const std::string& css_class) {
  svg.empty("line", {{"x1", coordinate(x1)},
                     {"y1", coordinate(y1)},
                     {"x2", coordinate(x2)},
                     {"y2", coordinate(y2)},
                     {"class", css_class}});
}

Box label_box(double x, double y, double width) {
  return {x - 2, y - kLabelSize, x + width + 2, y + 4};
}

void draw_label(Markup& svg, const Box& box, const std::string& text, const std::string& css_class) {
  draw_text(svg, (box.left + box.right) / 2, box.bottom - 4, text, "middle", css_class);
}

std::string marker_path(double x, double y, size_t shape, double radius) {
  const auto at = [&](double dx, double dy) {
    return coordinate(x + dx * radius) + " " + coordinate(y + dy * radius);
  };
  switch (shape % 4) {
    case 0: {  // a circle
      const std::string arc = "A" + coordinate(radius) + " " + coordinate(radius) + " 0 1 1 ";
      return "M" + at(-1, 0) + arc + at(1, 0) + arc + at(-1, 0) + "Z";
    }
    case 1:
      return "M" + at(-0.9, -0.9) + "L" + at(0.9, -0.9) + "L" + at(0.9, 0.9) + "L" + at(-0.9, 0.9) + "Z";
    case 2:
      return "M" + at(0, -1.3) + "L" + at(1.3, 0) + "L" + at(0, 1.3) + "L" + at(-1.3, 0) + "Z";
    default:
      return "M" + at(0, -1.2) + "L" + at(1.2, 0.9) + "L" + at(-1.2, 0.9) + "Z";
  }
}

double draw_legend(Markup& svg, const std::vector<LegendEntry>& entries, double left, double top) {
  double x = left, line = 0;
  for (const LegendEntry& entry : entries) {
    const std::string name = fitted_text(entry.name, kDrawingWidth - left - kSwatch - 20);
    const double width = kSwatch + 6 + text_width(name) + 16;
    if (x > left && x + width > kDrawingWidth) {
      x = left;
      ++line;
    }
    const double middle = top + line * (kLineHeight + 2) + kLineHeight / 2;
    draw_swatch(svg, entry, x, middle);
    draw_text(svg, x + kSwatch + 4, middle + 4.5, name, "start");
    x += width;
  }
  return entries.empty() ? 0 : (line + 1) * (kLineHeight + 2);
}

std::vector<Tick> ticks_that_fit(const ChartAxis& axis, const Scale& scale, double length) {
  std::vector<Tick> found;
  for (size_t most = 10; most >= 2; --most) {
    found = ticks(axis.unit, scale.range(), axis.logarithmic, most);
    double needed = 0;
    for (const Tick& tick : found) needed = std::max(needed, text_width(tick.label) + 14);
    bool fit = true;
    for (size_t i = 0; i + 1 < found.size(); ++i) {
      const double apart = scale.position(found[i + 1].at) - scale.position(found[i].at);
      fit = fit && std::max(apart, -apart) >= needed;
    }
    if (fit && needed * double(found.size()) <= length + needed) break;
  }
  return found;
}

std::string axis_text(const ChartAxis& axis) {
  return clean_text(axis.title) + (axis.logarithmic ? ", logarithmic" : "");
}

}  // namespace headroom::reports
