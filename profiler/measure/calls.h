#pragma once

#include <functional>
#include <memory>
#include <string>

#include "decoder/cpu/tile.h"
#include "decoder/graph/graph.h"
#include "decoder/interpreter/device.h"
#include "decoder/interpreter/kept_blocks.h"
#include "decoder/interpreter/map_view.h"
#include "decoder/plan/plan.h"
#include "decoder/schedule/storage.h"
#include "profiler/measure/benchmark.h"

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

/// Memory for kept tensors in this dtype. Each view begins after the previous one and wraps around, so that a
/// view's data is never in a cache.
class ColdBuffer {
 public:
  /// Allocates memory for this many values in the dtype.
  using Take = std::function<std::shared_ptr<void>(int64_t values)>;
  /// The buffer holds at least `apart_bytes`, and at least the largest view.
  ColdBuffer(Dtype dtype, int64_t apart_bytes, Take take)
      : dtype_(dtype), apart_bytes_(apart_bytes), take_(std::move(take)) {}

  Dtype dtype() const { return dtype_; }
  /// Grows the buffer to at least this many values.
  void hold(int64_t values);
  MapView next(int64_t rows, int64_t columns, int64_t channels);

 private:
  const Dtype dtype_;
  const int64_t apart_bytes_;
  const Take take_;
  std::shared_ptr<void> values_;
  int64_t count_ = 0, offset_ = 0;
};

// Operand memory of measured calls, allocated from a pool. Filled with a repeating sequence of a few thousand
// values between -1 and 1.

void fill(float* values, int64_t count);
std::shared_ptr<float> filled(LimitedPool& pool, int64_t count);
/// Filled memory for `count` values, converted to the dtype.
std::shared_ptr<void> filled_buffer(LimitedPool& pool, int64_t count, Dtype dtype);
Region region_of(int64_t rows, int64_t columns);
Tile filled_tile(LimitedPool& pool, const Region& region, int64_t channels);

/// Builds measurable calls: a device's steps on one item, with their operands prepared. Benchmark documents
/// the calls. All references must outlive this object and its calls.
class Calls {
 public:
  Calls(const Graph& graph, Device& device, Operands& operands)
      : graph_(graph), device_(device), operands_(operands) {}

  /// An operation on a tile of this extent. For attention, rows are queries and columns are keys. If the
  /// operation reads or adds to statistics or sums, call prepare_statistics() first.
  Call operation(const Op& op, int64_t rows, int64_t columns) const;
  /// A step that moves whole pixels: "gather", "store", "accumulate" or "emit".
  Call moving(const std::string& step, int64_t channels, int64_t rows, int64_t columns) const;
  /// Gathers the statistics or sums that `op` makes, from a few values of every frame of the latent.
  void prepare_statistics(const Op& op, const Extent& latent) const;

 private:
  const Graph& graph_;
  Device& device_;
  Operands& operands_;
};

}  // namespace headroom::profiler
