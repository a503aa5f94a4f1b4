#include <algorithm>
#include <cmath>

#include "reports/render/escape.h"
#include "reports/render/svg_chart.h"
#include "reports/render/svg_frame.h"

namespace headroom::reports {
namespace {

constexpr size_t kMostSpans = 120;
constexpr double kTallestSpan = 22, kLowestSpan = 9;
constexpr double kSpansHeight = 1150;
constexpr double kWidestTensorName = 300;

ColourRole colour_role_of(MemoryTier tier) {
  return tier == MemoryTier::device ? ColourRole::kept
         : tier == MemoryTier::host ? ColourRole::other
                                    : ColourRole::workspace;
}

std::string words_of(const KeptSpan& span) {
  std::string text = span.tensor + ": " + format(Unit::bytes, double(span.bytes)) + " in " +
                     name_of(span.tier) + span.above + ", passes " + std::to_string(span.first_pass) +
                     " to " + std::to_string(span.last_pass);
  if (!span.in_place_of.empty()) text += ", in place of " + span.in_place_of;
  return text;
}

/// From the left edge of a pass to the right edge of another.
struct PassScale {
  double left = 0, width = 0, passes = 1;
  double edge(double pass) const { return left + width * std::clamp(pass, 0.0, passes) / passes; }
  double middle(int32_t pass) const { return edge(pass + 0.5); }
};

std::vector<LegendEntry> legend_of(const KeptChart& chart) {
  std::vector<LegendEntry> entries;
  for (const MemoryTier tier : {MemoryTier::device, MemoryTier::host, MemoryTier::scratch}) {
    const bool used = std::any_of(chart.spans.begin(), chart.spans.end(),
                                  [&](const KeptSpan& span) { return span.tier == tier; });
    if (used) entries.push_back({std::string("held: ") + name_of(tier), colour_role_of(tier), Mark::bars, 0});
  }
  entries.push_back({"read in this pass", ColourRole::neutral, Mark::points, 0});
  return entries;
}

}  // namespace

std::string svg_kept(const KeptChart& chart, const std::string& id) {
  const size_t rows = std::min(chart.spans.size(), kMostSpans);
  const double height =
      rows == 0 ? kTallestSpan : std::clamp(kSpansHeight / double(rows), kLowestSpan, kTallestSpan);
  double passes = double(std::max<size_t>(chart.passes.size(), 1)), names = 0;
  for (size_t i = 0; i < rows; ++i) {
    passes = std::max(passes, double(chart.spans[i].last_pass) + 1);
    names = std::max(names, text_width(fitted_text(chart.spans[i].tensor, kWidestTensorName)));
  }
  Markup inner;
  const double left = std::max(46.0, names + 12), top = draw_legend(inner, legend_of(chart), left, 0) + 6;
  const PassScale scale{left, kDrawingWidth - 96 - left, passes};
  const double bottom = top + height * double(rows);
  const auto every = static_cast<size_t>(std::ceil((kLabelSize + 1) / height));
  for (size_t i = 1; i < rows; i += 2) {
    inner.empty("rect", {{"x", "0"},
                         {"y", coordinate(top + height * double(i))},
                         {"width", coordinate(kDrawingWidth)},
                         {"height", coordinate(height)},
                         {"class", "span odd"}});
  }
  const double step = std::max(1.0, std::ceil(passes * 30 / scale.width));
  for (double pass = 0; pass < passes; pass += step) {
    const double x = scale.edge(pass + 0.5);
    draw_line(inner, x, top, x, bottom, "grid");
    draw_text(inner, x, bottom + 18, std::to_string(static_cast<int64_t>(pass)), "middle", "tick");
  }
  for (size_t i = 0; i < rows; ++i) {
    const KeptSpan& span = chart.spans[i];
    const double y = top + height * double(i), middle = y + height / 2;
    inner.open("g", {});
    inner.element("title", {}, words_of(span));
    inner.empty("rect", {{"x", coordinate(scale.edge(span.first_pass))},
                         {"y", coordinate(y + height * 0.15)},
                         {"width", coordinate(scale.edge(span.last_pass + 1) - scale.edge(span.first_pass))},
                         {"height", coordinate(height * 0.7)},
                         {"class", fill_class(colour_role_of(span.tier)) + " held"}});
    for (const int32_t pass : span.read_in) {
      inner.empty("path", {{"d", marker_path(scale.middle(pass), middle, 0, 3)},
                           {"class", fill_class(ColourRole::neutral) + " mark"}});
    }
    inner.close();
    if (i % every != 0) continue;
    draw_text(inner, left - 7, middle + 4.5, fitted_text(span.tensor, kWidestTensorName), "end", "tick");
    draw_text(inner, kDrawingWidth - 2, middle + 4.5, format(Unit::bytes, double(span.bytes)), "end", "tick");
  }
  const double words = bottom + 36;
  draw_text(inner, scale.left + scale.width, words, "pass", "end", "axis-title");
  if (rows < chart.spans.size()) {
    draw_text(inner, 0, words,
              "the first " + std::to_string(rows) + " of " + std::to_string(chart.spans.size()) +
                  "; the table has all",
              "start", "axis-title");
  }
  Markup svg;
  open_drawing(svg, id, chart.title,
               "Which pass writes each kept tensor, until which one it is held, and where it is read: " +
                   std::to_string(chart.spans.size()) + " tensors, " + std::to_string(chart.passes.size()) +
                   " passes.",
               words + 8);
  svg.insert(inner.take());
  svg.close();
  return svg.take();
}

}  // namespace headroom::reports
