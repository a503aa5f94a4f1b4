#include "reports/render/svg_scale.h"

#include <algorithm>
#include <cmath>

namespace headroom::reports {

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

}  // namespace headroom::reports
