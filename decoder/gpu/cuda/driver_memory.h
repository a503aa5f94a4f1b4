#pragma once

#include <cstdint>
#include <string>

namespace headroom::gpu {

/// Memory use of one card as the driver counts it, from its management library (NVML). NVML needs no CUDA
/// context, so the memory of the context itself counts too. The library is opened if the machine has it.
class DriverMemory {
 public:
  /// `bus_id` as cudaDeviceGetPCIBusId() gives it. Memory in use now counts as used by others.
  explicit DriverMemory(const std::string& bus_id, const char* library = "libnvidia-ml.so.1");
  ~DriverMemory();
  DriverMemory(const DriverMemory&) = delete;
  DriverMemory& operator=(const DriverMemory&) = delete;

  /// False if the library is missing or does not know the card.
  bool known() const { return card_ != nullptr; }
  /// Growth of the card's use since construction, by any process. If a query fails, returns the previous
  /// result, so that no decode fails for it. Requires known(). Not thread-safe.
  int64_t grown_bytes() const;

 private:
  void* library_ = nullptr;
  void* card_ = nullptr;
  int64_t before_ = 0;
  mutable int64_t last_ = 0;  ///< result of grown_bytes()
};

}  // namespace headroom::gpu
