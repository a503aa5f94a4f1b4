#pragma once

#include <ATen/core/Tensor.h>

#include "decoder/runtime/map_view.h"

namespace headroom {

/// One tile of all items of a slice: values [N, T, Y, X, C], contiguous.
struct Tile {
  Region region;
  at::Tensor values;

  bool empty() const { return !values.defined(); }
  MapView view() const;
};

/// A tile of uninitialised values from the current pool.
Tile make_tile(const Region& region, int64_t channels, int64_t items);

}  // namespace headroom
