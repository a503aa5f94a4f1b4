#include "reports/render/svg_labels.h"

#include <algorithm>
#include <cstring>

#include "decoder/base/short_name.h"
#include "reports/render/escape.h"

namespace headroom::reports {
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
