#include "planner/search/tile_choice.h"

#include <algorithm>
#include <tuple>

namespace headroom::planner {

TileChoice::TileChoice(const PassOption& option, std::vector<MemoryTier> tiers, WeightResidency residency)
    : option_(&option),
      tiers_(std::move(tiers)),
      residency_(residency),
      least_bytes_(option.least_bytes(tiers_) + option.brought_bytes({}, residency)) {}

template <typename ShapesOf>
std::vector<Shape> TileChoice::with_carrying(const ShapesOf& shapes_of) const {
  std::vector<Shape> shapes = shapes_of(*option_);
  if (option_->carrying() == nullptr) return shapes;
  for (Shape shape : shapes_of(*option_->carrying())) {
    shape.carries_rows = true;
    shapes.push_back(shape);
  }
  return shapes;
}

std::vector<Shape>& TileChoice::by_speed() {
  if (!by_speed_.empty()) return by_speed_;
  const CostModel::Transfers transfers = option_->transfers(tiers_);
  by_speed_ = with_carrying([](const PassOption& option) { return option.shapes(); });
  for (Shape& shape : by_speed_) {
    const PassOption& option = of(shape);
    shape.seconds = CostModel::sweep_seconds(option.seconds(shape), transfers, option.bands(shape.height)) +
                    option.staging_seconds(shape, tiers_);
  }
  std::sort(by_speed_.begin(), by_speed_.end(), [](const Shape& a, const Shape& b) {
    return std::tie(a.seconds, a.carries_rows, a.height, a.width, a.chunk, a.algorithms) <
           std::tie(b.seconds, b.carries_rows, b.height, b.width, b.chunk, b.algorithms);
  });
  return by_speed_;
}

std::vector<Shape>& TileChoice::small_ones() {
  if (small_ones_.empty())
    small_ones_ = with_carrying([](const PassOption& option) { return option.small_shapes(); });
  return small_ones_;
}

int64_t TileChoice::peak_of(Shape& shape) {
  if (shape.peak_bytes >= 0) return shape.peak_bytes;
  const auto [live, is_new] = live_bytes_.try_emplace({shape.carries_rows, shape.height});
  if (is_new) live->second = of(shape).live_bytes(shape.height, tiers_);
  return shape.peak_bytes =
             of(shape).peak_bytes(shape, live->second) + of(shape).brought_bytes(shape, residency_);
}

bool TileChoice::any_within(int64_t limit_bytes) {
  return least_bytes_ <= limit_bytes && within_or_smallest(limit_bytes).peak_bytes <= limit_bytes;
}

size_t TileChoice::first_possible(size_t number, int64_t limit_bytes) {
  while (number < size() && shape(number).peak_bytes > limit_bytes) ++number;
  return number;
}

const Shape& TileChoice::within_or_smallest(int64_t bytes) {
  Shape* smallest = nullptr;
  for (Shape& shape : small_ones()) {
    if (smallest == nullptr || peak_of(shape) < peak_of(*smallest)) smallest = &shape;
    if (peak_of(*smallest) <= bytes) break;
  }
  return *smallest;
}

const std::vector<Shape>& TileChoice::all() {
  for (Shape& shape : by_speed()) peak_of(shape);
  return by_speed_;
}

}  // namespace headroom::planner
