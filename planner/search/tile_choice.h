#pragma once

#include <map>
#include <vector>

#include "planner/search/pass_option.h"

namespace headroom::planner {

/// The tile shapes of an option for one placing of its tensors and its parameters. What they cost is worked
/// out when first asked for: most searches look at the first shapes of most choices only, and those for the
/// smallest limit at no seconds.
class TileChoice {
 public:
  TileChoice(const PassOption& option, std::vector<MemoryTier> tiers, WeightResidency residency);

  /// Whether any shape needs no more. Works out no seconds.
  bool any_within(int64_t limit_bytes);
  /// Shapes by number, fastest first.
  size_t size() { return by_speed().size(); }
  const Shape& shape(size_t number) { return by_speed()[number]; }
  /// Of these shapes, from `number` on, the first that may need no more than the limit, by what is known so
  /// far; size() where none does.
  size_t first_possible(size_t number, int64_t limit_bytes);
  /// What is known of it: that it needs no more.
  bool known_to_fit(size_t number, int64_t limit_bytes) {
    return shape(number).peak_bytes >= 0 && shape(number).peak_bytes <= limit_bytes;
  }
  bool fits(size_t number, int64_t limit_bytes) { return peak_of(by_speed()[number]) <= limit_bytes; }
  Extent tile(const Shape& shape) const { return of(shape).tile(shape); }
  const ConvolutionAlgorithms& algorithms(const Shape& shape) const { return of(shape).algorithms(shape); }
  /// Some shape that needs no more than this, or a shape that needs least where none does; what it takes in
  /// time is not worked out.
  const Shape& within_or_smallest(int64_t bytes);
  /// Every shape, priced.
  const std::vector<Shape>& all();

 private:
  std::vector<Shape>& by_speed();
  template <typename ShapesOf>
  std::vector<Shape> with_carrying(const ShapesOf& shapes_of) const;
  /// Those that are worth a look where time does not count, one of the smallest among them.
  std::vector<Shape>& small_ones();
  int64_t peak_of(Shape& shape);
  /// The option whose shape it is: the one that carries rows, or not.
  const PassOption& of(const Shape& shape) const {
    return shape.carries_rows ? *option_->carrying() : *option_;
  }

  const PassOption* option_;
  std::vector<MemoryTier> tiers_;
  WeightResidency residency_;
  int64_t least_bytes_;
  std::vector<Shape> by_speed_, small_ones_;  ///< empty until they are asked for
  /// By whether rows are carried, and by height, of those that were asked for.
  std::map<std::pair<bool, uint32_t>, PassOption::LiveBytes> live_bytes_;
};

}  // namespace headroom::planner
