#pragma once

#include <array>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "planner/search/pass_option.h"

namespace headroom::planner {

/// A Shape packed into 32 bits: its indices, without seconds and bytes.
struct ShapeNumbers {
  uint32_t height : 8, width : 4, chunk : 4, alternative : 1, algorithms : 15;
};

/// Orders in which searches try the shapes of one option. All choices with this option share them.
class ShapeOrders {
 public:
  /// Shapes sorted by time, fastest first, for one assignment of the option's tensors to tiers.
  struct BySpeed {
    CostModel::Transfers transfers;
    bool stages = false;  ///< keys and values are fetched block by block
    std::vector<ShapeNumbers> order;
  };
  const BySpeed& by_speed(const PassOption& option, const std::vector<MemoryTier>& tiers);
  /// Shapes to try when only memory matters. One of them has the smallest peak.
  const std::vector<ShapeNumbers>& small(const PassOption& option);

 private:
  std::map<std::vector<MemoryTier>, BySpeed> by_speed_;
  std::vector<ShapeNumbers> small_;
};

/// The tile shapes of an option, for one assignment of tiers to its tensors and one weight residency. Costs
/// are computed on first use: most searches examine only the first shapes of a choice, and a search for the
/// smallest limit needs no seconds.
class TileChoice {
 public:
  /// `orders` must belong to `option`. Both must outlive this object.
  TileChoice(const PassOption& option, ShapeOrders& orders, std::vector<MemoryTier> tiers,
             WeightResidency residency);

  /// True if some shape needs no more than the limit. Computes no seconds.
  bool any_within(int64_t limit_bytes);
  /// Number of shapes. Shape 0 is the fastest.
  size_t size() { return by_speed().order.size(); }
  double seconds(size_t number);
  /// The shape with its costs. The reference stays valid.
  const Shape& shape(size_t number);
  /// First shape from `number` on that may fit the limit, by the peaks known so far. size() if there is none.
  size_t first_possible(size_t number, int64_t limit_bytes);
  /// True if the shape's peak is already known and within the limit.
  bool known_to_fit(size_t number, int64_t limit_bytes) {
    const int64_t bytes = fast_peaks_[number];
    return bytes >= 0 && bytes <= limit_bytes;
  }
  bool fits(size_t number, int64_t limit_bytes) { return fast_peak(number) <= limit_bytes; }
  /// Fills in the decisions of a plan that uses this shape.
  void decide(const Shape& shape, PassDecision& decision) const;
  /// Some shape that needs no more than `bytes`, or the smallest shape if none does. Does not compute its
  /// seconds.
  const Shape& within_or_smallest(int64_t bytes);
  /// Every shape, priced.
  std::vector<Shape> all();

 private:
  /// Peaks of the first shapes of an order, -1 if unknown. Allocated in blocks, because a search looks at
  /// millions of shapes.
  class Peaks {
   public:
    int64_t& operator[](size_t number);

   private:
    static constexpr size_t kBlock = 32;
    std::vector<std::unique_ptr<std::array<int64_t, kBlock>>> blocks_;
  };

  const ShapeOrders::BySpeed& by_speed();
  int64_t fast_peak(size_t number);
  int64_t small_peak(size_t number);
  /// Index (in the small order) and peak of the shape that within_or_smallest() returns.
  std::pair<size_t, int64_t> small_within(int64_t bytes);
  Shape& taken(const ShapeNumbers& numbers, int64_t peak_bytes);
  int64_t peak_of(const ShapeNumbers& numbers) const;

  const PassOption* option_;
  ShapeOrders* orders_;
  std::vector<MemoryTier> tiers_;
  WeightResidency residency_;
  int64_t least_bytes_;
  const ShapeOrders::BySpeed* by_speed_ = nullptr;  ///< set on first use
  Peaks fast_peaks_, small_peaks_;
  std::map<uint32_t, Shape> taken_;  ///< by its packed numbers
};

}  // namespace headroom::planner
