#pragma once

#include <memory>

#include "decoder/gpu/gpu_device.h"
#include "profiler/measure/operands.h"

namespace headroom::profiler {

/// Operands of measured calls on a GPU, copied from a buffer of about a million values.
class GpuOperands final : public Operands {
 public:
  /// Allocates `cold_values` up front. All references must outlive this object.
  GpuOperands(GpuDevice& device, Dtype dtype, int64_t cold_values, PinnedStaging& staging);

  MapView next(int64_t rows, int64_t columns, int64_t channels) override {
    return cold_buffer_.next(rows, columns, channels);
  }
  DeviceTile tile(const Region& region, int64_t channels) override;
  KeptMap blocks(int64_t positions, int64_t channels) override;
  int64_t tile_bytes(int64_t values) const override;

 private:
  std::shared_ptr<void> take(int64_t values);
  void fill(void* memory, int64_t bytes);

  GpuDevice& device_;
  const Dtype dtype_;
  PinnedStaging& staging_;
  std::shared_ptr<void> drawn_;  ///< source of the operands' values
  ColdBuffer cold_buffer_;
};

}  // namespace headroom::profiler
