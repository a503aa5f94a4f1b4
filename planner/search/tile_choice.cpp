#include "planner/search/tile_choice.h"

#include <algorithm>
#include <tuple>

#include "decoder/graph/errors.h"

namespace headroom::planner {

TileChoice::TileChoice(const PassOption& option, std::vector<MemoryTier> tiers, WeightResidency residency)
    : option_(&option),
      tiers_(std::move(tiers)),
      residency_(residency),
      least_bytes_(option.least_bytes(tiers_) +
                   option.brought_bytes(ConvolutionAlgorithm::direct, residency)) {
  const CostModel::Transfers transfers = option.transfers(tiers_);
  shapes_.reserve(option.heights() * option.widths() * option.chunks() * option.algorithms().size());
  for (ConvolutionAlgorithm algorithm : option.algorithms()) {
    for (uint32_t height = 0; height < option.heights(); ++height) {
      for (uint32_t i = 0; i < option.widths() * option.chunks(); ++i) {
        const auto widths = static_cast<uint32_t>(option.widths());
        Shape shape{0, -1, height, i % widths, i / widths, algorithm};
        if (!option.countable(shape)) continue;
        shape.seconds = CostModel::sweep_seconds(option.seconds(shape), transfers, option.bands(height)) +
                        option.staging_seconds(shape, tiers_);
        shapes_.push_back(shape);
      }
    }
  }
  if (shapes_.empty()) throw InputError("--size: too large for tiles that a GPU's libraries can count");
  const auto faster = [](const Shape& a, const Shape& b) {
    return std::tie(a.seconds, a.height, a.width, a.chunk, a.algorithm) <
           std::tie(b.seconds, b.height, b.width, b.chunk, b.algorithm);
  };
  std::sort(shapes_.begin(), shapes_.end(), faster);
}

int64_t TileChoice::peak_of(size_t i) {
  Shape& shape = shapes_[i];
  if (shape.peak_bytes >= 0) return shape.peak_bytes;
  const auto [live, is_new] = live_bytes_.try_emplace(shape.height);
  if (is_new) live->second = option_->live_bytes(shape.height, tiers_);
  return shape.peak_bytes =
             option_->peak_bytes(shape, live->second) + option_->brought_bytes(shape.algorithm, residency_);
}

size_t TileChoice::first_possible(size_t number, int64_t limit_bytes) const {
  if (least_bytes_ > limit_bytes) return shapes_.size();
  while (number < shapes_.size() && shapes_[number].peak_bytes > limit_bytes) ++number;
  return number;
}

size_t TileChoice::within_or_smallest(int64_t bytes) {
  // The slowest are mostly the smallest.
  for (size_t i = least_bytes_ <= bytes ? shapes_.size() : 0; i-- > 0;) {
    if (peak_of(i) <= bytes) return i;
  }
  const auto smallest = std::min_element(
      all().begin(), all().end(), [](const Shape& a, const Shape& b) { return a.peak_bytes < b.peak_bytes; });
  return static_cast<size_t>(smallest - shapes_.begin());
}

const std::vector<Shape>& TileChoice::all() {
  for (size_t i = 0; i < shapes_.size(); ++i) peak_of(i);
  return shapes_;
}

}  // namespace headroom::planner
