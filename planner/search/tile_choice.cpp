#include "planner/search/tile_choice.h"

#include <algorithm>
#include <tuple>

namespace headroom::planner {
namespace {

/// The option whose shape it is: the one that carries rows, or not.
const PassOption& option_of(const PassOption& option, const Shape& shape) {
  return shape.carries_rows ? *option.carrying() : option;
}

template <typename ShapesOf>
std::vector<Shape> with_carrying(const PassOption& option, const ShapesOf& shapes_of) {
  std::vector<Shape> shapes = shapes_of(option);
  if (option.carrying() == nullptr) return shapes;
  for (Shape shape : shapes_of(*option.carrying())) {
    shape.carries_rows = true;
    shapes.push_back(shape);
  }
  return shapes;
}

std::vector<ShapeNumbers> numbers_of(const std::vector<Shape>& shapes) {
  std::vector<ShapeNumbers> order;
  order.reserve(shapes.size());
  for (const Shape& shape : shapes)
    order.push_back({shape.height, shape.width, shape.chunk, shape.carries_rows, shape.algorithms});
  return order;
}

double seconds_of(const PassOption& option, const Shape& shape, const CostModel::Transfers& transfers,
                  const std::vector<MemoryTier>& tiers) {
  const PassOption& own = option_of(option, shape);
  return CostModel::sweep_seconds(own.seconds(shape), transfers, own.bands(shape.height)) +
         own.staging_seconds(shape, tiers);
}

}  // namespace

const ShapeOrders::BySpeed& ShapeOrders::by_speed(const PassOption& option,
                                                  const std::vector<MemoryTier>& tiers) {
  const auto [known, is_new] = by_speed_.try_emplace(tiers);
  BySpeed& found = known->second;
  if (!is_new) return found;
  found.transfers = option.transfers(tiers);
  std::vector<Shape> shapes = with_carrying(option, [](const PassOption& of) { return of.shapes(); });
  for (Shape& shape : shapes) shape.seconds = seconds_of(option, shape, found.transfers, tiers);
  std::sort(shapes.begin(), shapes.end(), [](const Shape& a, const Shape& b) {
    return std::tie(a.seconds, a.carries_rows, a.height, a.width, a.chunk, a.algorithms) <
           std::tie(b.seconds, b.carries_rows, b.height, b.width, b.chunk, b.algorithms);
  });
  found.order = numbers_of(shapes);
  return found;
}

const std::vector<ShapeNumbers>& ShapeOrders::small(const PassOption& option) {
  if (small_.empty())
    small_ = numbers_of(with_carrying(option, [](const PassOption& of) { return of.small_shapes(); }));
  return small_;
}

TileChoice::TileChoice(const PassOption& option, ShapeOrders& orders, std::vector<MemoryTier> tiers,
                       WeightResidency residency)
    : option_(&option),
      orders_(&orders),
      tiers_(std::move(tiers)),
      residency_(residency),
      least_bytes_(option.least_bytes(tiers_) + option.brought_bytes({}, residency)) {}

void TileChoice::LookedAt::add(const ShapeNumbers& numbers) {
  if (size_ % kBlock == 0) blocks_.push_back(std::make_unique<std::array<Shape, kBlock>>());
  Shape& shape = (*this)[size_++];
  shape = Shape(numbers.height, numbers.width, numbers.chunk, numbers.algorithms);
  shape.carries_rows = numbers.carries_rows;
}

const ShapeOrders::BySpeed& TileChoice::by_speed() {
  if (by_speed_ == nullptr) by_speed_ = &orders_->by_speed(*option_, tiers_);
  return *by_speed_;
}

Shape& TileChoice::fast_one(size_t number) {
  while (fast_ones_.size() <= number) {
    const size_t next = fast_ones_.size();
    fast_ones_.add(by_speed().order[next]);
    fast_ones_[next].seconds = seconds_of(*option_, fast_ones_[next], by_speed_->transfers, tiers_);
  }
  return fast_ones_[number];
}

Extent TileChoice::tile(const Shape& shape) const {
  return option_of(*option_, shape).tile(shape);
}

const ConvolutionAlgorithms& TileChoice::algorithms(const Shape& shape) const {
  return option_of(*option_, shape).algorithms(shape);
}

int64_t TileChoice::peak_of(Shape& shape) const {
  if (shape.peak_bytes >= 0) return shape.peak_bytes;
  const PassOption& option = option_of(*option_, shape);
  return shape.peak_bytes = option.peak_bytes(shape, option.live_bytes(shape.height, tiers_)) +
                            option.brought_bytes(shape, residency_);
}

bool TileChoice::any_within(int64_t limit_bytes) {
  return least_bytes_ <= limit_bytes && within_or_smallest(limit_bytes).peak_bytes <= limit_bytes;
}

size_t TileChoice::first_possible(size_t number, int64_t limit_bytes) {
  while (number < size() && shape(number).peak_bytes > limit_bytes) ++number;
  return number;
}

const Shape& TileChoice::within_or_smallest(int64_t bytes) {
  const std::vector<ShapeNumbers>& small = orders_->small(*option_);
  Shape* smallest = nullptr;
  for (size_t number = 0; number < small.size(); ++number) {
    if (number == small_ones_.size()) small_ones_.add(small[number]);
    Shape& shape = small_ones_[number];
    if (smallest == nullptr || peak_of(shape) < peak_of(*smallest)) smallest = &shape;
    if (peak_of(*smallest) <= bytes) break;
  }
  return *smallest;
}

std::vector<Shape> TileChoice::all() {
  std::vector<Shape> shapes;
  for (size_t number = 0; number < size(); ++number) {
    peak_of(fast_one(number));
    shapes.push_back(shape(number));
  }
  return shapes;
}

}  // namespace headroom::planner
