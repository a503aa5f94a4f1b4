#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "decoder/interpreter/map_view.h"

namespace headroom {

/// One tile of all items of a micro-batch: values [N, T, Y, X, C], contiguous.
struct Tile {
  Region region;
  at::Tensor values;

  bool empty() const { return !values.defined(); }
  MapView view() const;
};

/// A tile of uninitialised values from the current pool.
Tile make_tile(const Region& region, int64_t channels, int64_t items);

/// Memory from LibTorch's current allocator.
std::shared_ptr<void> tensor_memory(int64_t bytes);

}  // namespace headroom
