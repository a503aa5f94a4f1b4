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
  /// Allocates `bytes`. The last copy of the pointer frees them.
  using Allocate = std::function<std::shared_ptr<void>(int64_t bytes, const InSeries& series)>;

  KeptMap(const KeptTensor& kept, const Extent& picture, int64_t channels, int64_t items, Dtype dtype,
          Allocate allocate);

  /// Allocates the blocks of every item that are not in memory yet.
  void acquire(const Interval& blocks);
  void release(const Interval& blocks);
  /// Updates the addresses of blocks that Device::move_blocks() moved.
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
