#pragma once

#include <c10/core/Device.h>

#include <string>

#include "decoder/plan/plan.h"

namespace headroom::profiler {

/// Where LibTorch computes: the CPU, or the first GPU that it finds.
class EagerDevice {
 public:
  /// Opens LibTorch's CUDA library for a GPU. Throws DeviceError where that is not there or finds none.
  explicit EagerDevice(DeviceKind kind);

  c10::Device device() const { return device_; }
  /// Waits until all is computed.
  void synchronise() const;
  /// Hands back to the driver what the allocator keeps for later; on the CPU it keeps nothing.
  void drop_cache() const;

 private:
  c10::Device device_;
};

/// "LibTorch 2.11.0".
std::string libtorch_version();

}  // namespace headroom::profiler
