#pragma once

#include "decoder/interpreter/device.h"
#include "decoder/interpreter/kept_map.h"
#include "decoder/lowering/storage.h"

namespace headroom::profiler {

/// Operands of measured calls: device memory with a repeating sequence of values between -1 and 1.
class Operands {
 public:
  virtual ~Operands() = default;

  /// A tensor that is kept, each time at another address, so that caches do not hold it.
  virtual MapView next(int64_t rows, int64_t columns, int64_t channels) = 0;
  /// A tile of one item. Throws LimitExceeded, and DoesNotFit where the device's libraries cannot count so
  /// many values.
  virtual DeviceTile tile(const Region& region, int64_t channels) = 0;
  /// A whole tensor in blocks, as attention reads its keys and values: a position in each row.
  virtual KeptMap blocks(int64_t positions, int64_t channels) = 0;
  /// Bytes that a tile of so many values takes.
  virtual int64_t tile_bytes(int64_t values) const = 0;
};

}  // namespace headroom::profiler
