#pragma once

#include <algorithm>
#include <cstdint>

namespace headroom {

/// One value for each of the three dimensions that tiles cut: time, rows, columns. Pictures have t = 1.
template <typename T>
struct Axes {
  T t{};
  T y{};
  T x{};
  friend bool operator==(const Axes&, const Axes&) = default;
};

enum class Axis : uint8_t { t, y, x };

/// The value for one axis.
template <typename A>
constexpr auto& at(A& axes, Axis axis) {
  return axis == Axis::t ? axes.t : axis == Axis::y ? axes.y : axes.x;
}

/// Applies `f` to the matching members of its arguments: per_axis(f, a, b).t == f(a.t, b.t).
template <typename F, typename... A>
auto per_axis(F f, const A&... axes) -> Axes<decltype(f(axes.t...))> {
  return {f(axes.t...), f(axes.y...), f(axes.x...)};
}

/// Positions along each axis.
using Extent = Axes<int64_t>;

inline int64_t positions(const Extent& extent) {
  return extent.t * extent.y * extent.x;
}

/// A half-open interval of positions along one axis. It may reach outside the picture.
struct Interval {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t length() const { return end > begin ? end - begin : 0; }
  bool contains(const Interval& inner) const { return begin <= inner.begin && inner.end <= end; }
  friend auto operator<=>(const Interval&, const Interval&) = default;
};

inline Interval intersect(const Interval& a, const Interval& b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

/// A box of positions in one tensor.
using Region = Axes<Interval>;

inline Extent extent_of(const Region& region) {
  return per_axis([](const Interval& interval) { return interval.length(); }, region);
}

inline Region whole(const Extent& extent) {
  return per_axis([](int64_t length) { return Interval{0, length}; }, extent);
}

/// Positions needed beyond a region, before its begin and after its end.
struct Halo {
  Axes<int32_t> before;
  Axes<int32_t> after;
  friend bool operator==(const Halo&, const Halo&) = default;
};

}  // namespace headroom
