#pragma once

#include <memory>
#include <vector>

#include "decoder/plan/plan.h"
#include "decoder/runtime/device.h"
#include "decoder/runtime/map_view.h"

namespace headroom {

/// A kept tensor in memory: the blocks that are there now.
class KeptMap {
 public:
  /// Memory comes from `device`, or, where that is null, from LibTorch's current allocator.
  KeptMap(const Kept& kept, const Extent& picture, int64_t channels, int64_t items, Dtype dtype,
          Device* device = nullptr);

  /// Takes blocks [begin, end) of every item, where they are not there yet.
  void acquire(const Interval& blocks);
  void release(const Interval& blocks);

  const MapView& view() const { return view_; }
  const Extent& picture() const { return picture_; }
  int64_t blocks_per_item() const { return view_.blocks_per_item; }

 private:
  Extent picture_;
  MapView view_;
  std::vector<std::shared_ptr<void>> storage_;
  Device* device_;
};

}  // namespace headroom
