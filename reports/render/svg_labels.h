#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headroom::reports {

/// Font sizes in units of the drawing.
constexpr double kLabelSize = 13;
constexpr double kLineHeight = 17;

/// Estimated width of a text. The browser chooses the font, so the estimate errs on the wide side.
double text_width(std::string_view text, double font_size = kLabelSize);
double bold_width(std::string_view text);  ///< at label size

/// Clean text with short names of layers. If it is too wide, "…" replaces its beginning, because the ends of
/// names differ most. Empty if not even a few characters fit.
std::string fitted_text(std::string_view text, double width, double font_size = kLabelSize);

/// A layer's short name, or its longest tail that fits: "conv1" of "up3.res0.conv1". Empty if not even the
/// last part fits.
std::string fitted_name(std::string_view name, double width, double font_size);

struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;
  double width() const { return right - left; }
  double height() const { return bottom - top; }
};
bool overlap(const Box& a, const Box& b);

/// Finds places for labels inside a frame so that none covers another.
class LabelPlacer {
 public:
  explicit LabelPlacer(const Box& frame) : frame_(frame) {}

  /// Moves the candidates into the frame and returns the first free one. If none is free, it moves them down
  /// or up as little as possible. Places nearby that also keep clear of avoided boxes are preferred. If the
  /// frame is full, it returns the first candidate, moved into the frame. The returned box is then taken.
  Box place(const std::vector<Box>& candidates);
  void take(const Box& box) { taken_.push_back(box); }
  /// Marks a line or point that labels cover only if there is no better place.
  void avoid(const Box& box) { avoided_.push_back(box); }

 private:
  Box inside(Box box) const;
  Box frame_;
  std::vector<Box> taken_, avoided_;
};

}  // namespace headroom::reports
