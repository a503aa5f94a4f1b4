#pragma once

#include "decoder/interpreter/device.h"
#include "decoder/interpreter/kept_map.h"
#include "decoder/schedule/storage.h"

namespace headroom::profiler {

/// Operands of measured calls: device memory with a repeating sequence of values between -1 and 1.
class Operands {
 public:
  virtual ~Operands() = default;

  /// A kept tensor, at a new address each time, so that caches do not hold it.
  virtual MapView next(int64_t rows, int64_t columns, int64_t channels) = 0;
  /// A tile of one item. Throws LimitExceeded. Throws DoesNotFit if it has more values than the device's
  /// libraries can index.
  virtual DeviceTile tile(const Region& region, int64_t channels) = 0;
  /// A whole tensor in blocks, with one position in each row, the layout in which attention reads keys and
  /// values.
  virtual KeptMap blocks(int64_t positions, int64_t channels) = 0;
  /// Allocation size of a tile with this many values.
  virtual int64_t tile_bytes(int64_t values) const = 0;
};

}  // namespace headroom::profiler
