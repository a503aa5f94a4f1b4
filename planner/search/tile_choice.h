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

  /// Shapes by number, fastest first.
  size_t size() const { return shapes_.size(); }
  const Shape& shape(size_t number) const { return shapes_[number]; }
  /// Of these shapes, from `number` on, the first that may need no more than the limit, by what is known so
  /// far; size() where none does.
  size_t first_possible(size_t number, int64_t limit_bytes) const;
  /// What is known of it: that it needs no more.
  bool known_to_fit(size_t number, int64_t limit_bytes) const {
    return shapes_[number].peak_bytes >= 0 && shapes_[number].peak_bytes <= limit_bytes;
  }
  bool fits(size_t number, int64_t limit_bytes) { return peak_of(number) <= limit_bytes; }
  Extent tile(const Shape& shape) const { return option_->tile(shape); }
  /// Some shape that needs no more than this, or the shape that needs least where none does.
  size_t within_or_smallest(int64_t bytes);
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
