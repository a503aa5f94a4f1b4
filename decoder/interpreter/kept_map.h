#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "decoder/interpreter/device.h"
#include "decoder/interpreter/map_view.h"
#include "decoder/plan/plan.h"

namespace headroom {

/// A kept tensor in memory: the blocks that are there now.
class KeptMap {
 public:
  /// Gives memory of so many bytes that lasts until the last copy of the pointer is gone.
  using Allocate = std::function<std::shared_ptr<void>(int64_t bytes, const InSeries& series)>;

  KeptMap(const KeptTensor& kept, const Extent& picture, int64_t channels, int64_t items, Dtype dtype,
          Allocate allocate);

  /// Takes blocks [begin, end) of every item, where they are not there yet.
  void acquire(const Interval& blocks);
  void release(const Interval& blocks);
  /// Blocks were moved (Device::move_blocks).
  void follow(const std::map<const void*, void*>& moved);

  const MapView& view() const { return view_; }
  const Extent& picture() const { return picture_; }
  int64_t blocks_per_item() const { return view_.blocks_per_item; }

 private:
  Extent picture_;
  MapView view_;
  std::vector<std::shared_ptr<void>> storage_;
  Allocate allocate_;
};

}  // namespace headroom
