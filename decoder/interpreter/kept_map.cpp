#include "decoder/interpreter/kept_map.h"

#include <utility>

namespace headroom {

KeptMap::KeptMap(const KeptTensor& kept, const Extent& picture, int64_t channels, int64_t items, Dtype dtype,
                 Allocate allocate)
    : picture_(picture), allocate_(std::move(allocate)) {
  Region stored = whole(picture);
  stored.y = kept.rows.value_or(stored.y);
  const int64_t blocks = (stored.y.length() + kept.block_rows - 1) / kept.block_rows;
  view_ = {.region = stored,
           .channels = channels,
           .block_rows = kept.block_rows,
           .blocks_per_item = blocks,
           .blocks = {},
           .dtype = dtype};
  view_.blocks.resize(static_cast<size_t>(items * blocks), nullptr);
  storage_.resize(view_.blocks.size());
}

void KeptMap::acquire(const Interval& blocks) {
  const int64_t items = static_cast<int64_t>(storage_.size()) / view_.blocks_per_item;
  for (int64_t item = 0; item < items; ++item) {
    for (int64_t b = blocks.begin; b < blocks.end; ++b) {
      const auto i = static_cast<size_t>(item * view_.blocks_per_item + b);
      if (storage_[i]) continue;
      const int64_t bytes =
          picture_.t * view_.block_rows * picture_.x * view_.channels * bytes_per_element(view_.dtype);
      const void* before = b > 0 ? storage_[i - 1].get() : nullptr;
      storage_[i] = allocate_(bytes, {before, view_.blocks_per_item - 1 - b});
      view_.blocks[i] = storage_[i].get();
    }
  }
}

void KeptMap::release(const Interval& blocks) {
  const int64_t items = static_cast<int64_t>(storage_.size()) / view_.blocks_per_item;
  for (int64_t item = 0; item < items; ++item) {
    for (int64_t b = blocks.begin; b < blocks.end; ++b) {
      const auto i = static_cast<size_t>(item * view_.blocks_per_item + b);
      storage_[i].reset();
      view_.blocks[i] = nullptr;
    }
  }
}

void KeptMap::follow(const std::map<const void*, void*>& moved) {
  for (size_t i = 0; i < storage_.size(); ++i) {
    const auto place = moved.find(view_.blocks[i]);
    if (!storage_[i] || place == moved.end()) continue;
    // The block goes back to the device as the same allocation.
    storage_[i] = std::shared_ptr<void>(std::move(storage_[i]), place->second);
    view_.blocks[i] = place->second;
  }
}

}  // namespace headroom
