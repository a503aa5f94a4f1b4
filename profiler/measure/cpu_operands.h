#pragma once

#include "decoder/cpu/cpu_device.h"
#include "decoder/schedule/storage.h"
#include "profiler/measure/operands.h"

namespace headroom::profiler {

/// Operands of measured calls on the CPU, in memory of a pool.
class CpuOperands final : public Operands {
 public:
  /// The pool must outlive this object and its operands.
  CpuOperands(LimitedPool& pool, Dtype dtype);

  MapView next(int64_t rows, int64_t columns, int64_t channels) override {
    return cold_buffer_.next(rows, columns, channels);
  }
  DeviceTile tile(const Region& region, int64_t channels) override;
  KeptMap blocks(int64_t positions, int64_t channels) override;
  int64_t tile_bytes(int64_t values) const override;

 private:
  LimitedPool& pool_;
  const Dtype dtype_;
  ColdBuffer cold_buffer_;
};

}  // namespace headroom::profiler
