#include "planner/search/tile_choice.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>

#include "decoder/base/errors.h"

namespace headroom::planner {
namespace {

/// The option that the shape belongs to: this one or its alternative.
const PassOption& option_of(const PassOption& option, const Shape& shape) {
  return shape.alternative ? *option.alternative() : option;
}

template <typename ShapesOf>
std::vector<Shape> with_alternative(const PassOption& option, const ShapesOf& shapes_of) {
  std::vector<Shape> shapes = shapes_of(option);
  if (option.alternative() != nullptr) {
    for (Shape shape : shapes_of(*option.alternative())) {
      shape.alternative = true;
      shapes.push_back(shape);
    }
  }
  if (shapes.empty()) throw InputError("--size: too large for tiles that a GPU's libraries can count");
  return shapes;
}

std::vector<ShapeNumbers> numbers_of(const std::vector<Shape>& shapes) {
  std::vector<ShapeNumbers> order;
  order.reserve(shapes.size());
  for (const Shape& shape : shapes)
    order.push_back({shape.height, shape.width, shape.chunk, shape.alternative, shape.algorithms});
  return order;
}

Shape shape_of(const ShapeNumbers& numbers) {
  Shape shape(numbers.height, numbers.width, numbers.chunk, numbers.algorithms);
  shape.alternative = numbers.alternative;
  return shape;
}

double seconds_of(const PassOption& option, const Shape& shape, const ShapeOrders::BySpeed& of,
                  const std::vector<MemoryTier>& tiers) {
  const PassOption& own = option_of(option, shape);
  return CostModel::sweep_seconds(own.seconds(shape), of.transfers, own.bands(shape.height)) +
         (of.stages ? own.staging_seconds(shape, tiers) : 0);
}

}  // namespace

const ShapeOrders::BySpeed& ShapeOrders::by_speed(const PassOption& option,
                                                  const std::vector<MemoryTier>& tiers) {
  const auto [known, is_new] = by_speed_.try_emplace(tiers);
  BySpeed& found = known->second;
  if (!is_new) return found;
  found.transfers = option.transfers(tiers);
  found.stages =
      option.stages(tiers) || (option.alternative() != nullptr && option.alternative()->stages(tiers));
  std::vector<Shape> shapes = with_alternative(option, [](const PassOption& of) { return of.shapes(); });
  for (Shape& shape : shapes) shape.seconds = seconds_of(option, shape, found, tiers);
  std::sort(shapes.begin(), shapes.end(), [](const Shape& a, const Shape& b) {
    return std::tie(a.seconds, a.alternative, a.height, a.width, a.chunk, a.algorithms) <
           std::tie(b.seconds, b.alternative, b.height, b.width, b.chunk, b.algorithms);
  });
  found.order = numbers_of(shapes);
  return found;
}

const std::vector<ShapeNumbers>& ShapeOrders::small(const PassOption& option) {
  if (small_.empty())
    small_ = numbers_of(with_alternative(option, [](const PassOption& of) { return of.small_shapes(); }));
  return small_;
}

TileChoice::TileChoice(const PassOption& option, ShapeOrders& orders, std::vector<MemoryTier> tiers,
                       WeightResidency residency)
    : option_(&option),
      orders_(&orders),
      tiers_(std::move(tiers)),
      residency_(residency),
      least_bytes_(option.least_bytes(tiers_) + option.brought_bytes({}, residency)) {}

int64_t& TileChoice::Peaks::operator[](size_t number) {
  while (blocks_.size() <= number / kBlock)
    blocks_.emplace_back(std::make_unique<std::array<int64_t, kBlock>>())->fill(-1);
  return (*blocks_[number / kBlock])[number % kBlock];
}

const ShapeOrders::BySpeed& TileChoice::by_speed() {
  if (by_speed_ == nullptr) by_speed_ = &orders_->by_speed(*option_, tiers_);
  return *by_speed_;
}

double TileChoice::seconds(size_t number) {
  return seconds_of(*option_, shape_of(by_speed().order[number]), by_speed(), tiers_);
}

int64_t TileChoice::fast_peak(size_t number) {
  int64_t& bytes = fast_peaks_[number];
  if (bytes < 0) bytes = peak_of(by_speed().order[number]);
  return bytes;
}

Shape& TileChoice::taken(const ShapeNumbers& numbers, int64_t peak_bytes) {
  Shape& shape = taken_[std::bit_cast<uint32_t>(numbers)];
  const double seconds = shape.seconds;
  shape = shape_of(numbers);
  shape.peak_bytes = peak_bytes;
  shape.seconds = seconds;
  return shape;
}

const Shape& TileChoice::shape(size_t number) {
  Shape& shape = taken(by_speed().order[number], fast_peak(number));
  shape.seconds = seconds(number);
  return shape;
}

void TileChoice::decide(const Shape& shape, PassDecision& decision) const {
  option_of(*option_, shape).decide(shape, decision);
}

int64_t TileChoice::peak_of(const ShapeNumbers& numbers) const {
  const Shape shape = shape_of(numbers);
  const PassOption& option = option_of(*option_, shape);
  return option.peak_bytes(shape, option.live_bytes(shape.height, tiers_)) +
         option.brought_bytes(shape, residency_);
}

bool TileChoice::any_within(int64_t limit_bytes) {
  if (least_bytes_ > limit_bytes) return false;
  // Shapes with few rows are many, so finding their peaks is slow. Try one in the middle first.
  const size_t middle = orders_->small(*option_).size() / 2;
  return small_peak(middle) <= limit_bytes || small_within(limit_bytes).second <= limit_bytes;
}

int64_t TileChoice::small_peak(size_t number) {
  int64_t& peak = small_peaks_[number];
  if (peak < 0) peak = peak_of(orders_->small(*option_)[number]);
  return peak;
}

size_t TileChoice::first_possible(size_t number, int64_t limit_bytes) {
  while (number < size() && fast_peaks_[number] > limit_bytes) ++number;
  return number;
}

std::pair<size_t, int64_t> TileChoice::small_within(int64_t bytes) {
  const std::vector<ShapeNumbers>& small = orders_->small(*option_);
  std::pair<size_t, int64_t> smallest{0, std::numeric_limits<int64_t>::max()};
  for (size_t number = 0; number < small.size() && smallest.second > bytes; ++number) {
    const int64_t peak = small_peak(number);
    if (peak < smallest.second) smallest = {number, peak};
  }
  return smallest;
}

const Shape& TileChoice::within_or_smallest(int64_t bytes) {
  const auto [number, peak] = small_within(bytes);
  return taken(orders_->small(*option_)[number], peak);
}

std::vector<Shape> TileChoice::all() {
  std::vector<Shape> shapes;
  for (size_t number = 0; number < size(); ++number) shapes.push_back(shape(number));
  return shapes;
}

}  // namespace headroom::planner
