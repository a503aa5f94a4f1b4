#pragma once

#include <memory>

#include "decoder/gpu/gpu_device.h"
#include "decoder/interpreter/materialised_map.h"
#include "profiler/measure/cold_buffer.h"

namespace headroom::profiler {

/// What calls on a GPU read: memory with values between -1 and 1, the same few million over and over.
class GpuOperands {
 public:
  /// `store_values` are there throughout. All references must outlive it.
  GpuOperands(GpuDevice& device, Dtype dtype, int64_t store_values, PinnedStaging& staging);

  Dtype dtype() const { return dtype_; }
  /// A tensor that is materialised.
  MapView next(int64_t rows, int64_t columns, int64_t channels) {
    return cold_buffer_.next(rows, columns, channels);
  }
  /// A tile of one item. Throws DoesNotFit where it has more values than libraries count.
  DeviceTile tile(const Region& region, int64_t channels);
  /// A whole tensor in blocks, as attention reads its keys and values: a position in each row.
  MaterialisedMap blocks(int64_t positions, int64_t channels);

 private:
  std::shared_ptr<void> take(int64_t values);
  void fill(void* memory, int64_t bytes);

  GpuDevice& device_;
  const Dtype dtype_;
  PinnedStaging& staging_;
  std::shared_ptr<void> drawn_;  ///< values that others are copies of
  ColdBuffer cold_buffer_;
};

}  // namespace headroom::profiler
