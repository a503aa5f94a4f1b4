#include "reports/render/svg_chart.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "decoder/base/short_name.h"
#include "reports/figures/chart.h"
#include "reports/render/markup.h"

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

Scale::Scale(Range range, bool logarithmic, double from, double to)
    : range_(range), logarithmic_(logarithmic), from_(from), to_(to) {}

double Scale::share(double value) const {
  if (!logarithmic_) return (value - range_.least) / (range_.most - range_.least);
  return value <= 0 ? 0 : std::log(value / range_.least) / std::log(range_.most / range_.least);
}

double Scale::position(double value) const {
  const double inside = share(std::clamp(value, range_.least, range_.most));
  return from_ + (to_ - from_) * (std::isfinite(inside) ? inside : 0);
}

namespace {

/// Estimated width as a fraction of the font size.
double character_width(std::string_view character) {
  if (character.size() >= 3 && static_cast<unsigned char>(character[0]) >= 0xE3)
    return 1.05;  // CJK and beyond
  if (character.size() > 1) return 0.7;
  const char c = character[0];
  if (std::strchr("iljtfrI.,:;'|!()[] -", c) != nullptr) return 0.38;
  if (std::strchr("mwMW@%", c) != nullptr) return 0.95;
  return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? 0.68 : 0.6;
}

bool is_free(const Box& box, const std::vector<Box>& others) {
  return std::none_of(others.begin(), others.end(), [&](const Box& other) { return overlap(box, other); });
}

Box moved(const Box& box, double x, double y) {
  return {box.left + x, box.top + y, box.right + x, box.bottom + y};
}

}  // namespace

double text_width(std::string_view text, double font_size) {
  double width = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t bytes = character_bytes(text, at);
    width += character_width(text.substr(at, bytes));
    at += bytes;
  }
  return width * font_size;
}

double bold_width(std::string_view text) {
  return 1.12 * text_width(text);
}

std::string fitted_text(std::string_view text, double width, double font_size) {
  std::string clean = clean_text(with_short_names(text));
  double needed = text_width(clean, font_size);
  if (needed <= width) return clean;
  needed += text_width("…", font_size);
  std::string_view rest = clean;
  while (!rest.empty() && needed > width) {
    const size_t bytes = character_bytes(rest, 0);
    needed -= text_width(rest.substr(0, bytes), font_size);
    rest.remove_prefix(bytes);
  }
  // Drops the separator after the cut: "…conv1", not "….conv1".
  if (rest.starts_with('.')) rest.remove_prefix(1);
  return rest.size() < 6 ? "" : "…" + std::string(rest);
}

std::string fitted_name(std::string_view name, double width, double font_size) {
  const std::string clean = clean_text(with_short_names(name));
  std::string_view rest = clean;
  while (text_width(rest, font_size) > width) {
    const size_t dot = rest.find('.');
    if (dot == rest.npos) return "";
    rest.remove_prefix(dot + 1);
  }
  return std::string(rest);
}

bool overlap(const Box& a, const Box& b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

Box LabelPlacer::inside(Box box) const {
  box = moved(box, std::min(0.0, frame_.right - box.right), std::min(0.0, frame_.bottom - box.bottom));
  return moved(box, std::max(0.0, frame_.left - box.left), std::max(0.0, frame_.top - box.top));
}

Box LabelPlacer::place(const std::vector<Box>& candidates) {
  constexpr int kNear = 8;  // in half lines; a label this close still seems to belong to its point
  const int everywhere = static_cast<int>(2 * frame_.height() / kLineHeight) + 1;
  for (const bool strict : {true, false}) {
    for (int i = 0; i <= (strict ? kNear : everywhere); ++i) {
      for (const Box& candidate : candidates) {
        for (const double direction : {0.5, -0.5}) {
          const Box box = moved(inside(candidate), 0, direction * i * kLineHeight);
          const bool within = box.top >= frame_.top && box.bottom <= frame_.bottom;
          if (!within || !is_free(box, taken_) || (strict && !is_free(box, avoided_))) continue;
          take(box);
          return box;
        }
      }
    }
  }
  take(inside(candidates.front()));
  return taken_.back();
}

}  // namespace headroom::reports
