#pragma once

#include <map>
#include <vector>

#include "planner/search/pass_option.h"

namespace headroom::planner {

/// The tile shapes of an option for one placing of its tensors and its parameters, fastest first. Peaks are
/// worked out when first needed: most searches look at the first shapes of most choices only.
class TileChoice {
 public:
  TileChoice(const PassOption& option, std::vector<MemoryTier> tiers, WeightResidency residency);

  /// The fastest shape of all, whatever it needs.
  const Shape& fastest() const { return shapes_.front(); }
  /// The fastest shape that needs no more than the limit; null where none does.
  const Shape* fastest_within(int64_t limit_bytes);
  Extent tile(const Shape& shape) const { return option_->tile(shape); }
  /// Some shape that needs no more than this, or the shape that needs least where none does.
  const Shape* within_or_smallest(int64_t bytes);
  /// Every shape, priced.
  const std::vector<Shape>& all();

 private:
  int64_t peak_of(size_t i);

  const PassOption* option_;
  std::vector<MemoryTier> tiers_;
  WeightResidency residency_;
  int64_t least_bytes_;
  std::vector<Shape> shapes_;                             ///< fastest first
  std::map<uint32_t, PassOption::LiveBytes> live_bytes_;  ///< by height, of those that were asked for
};

}  // namespace headroom::planner
