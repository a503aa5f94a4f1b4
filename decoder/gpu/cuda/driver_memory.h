#pragma once

#include <cstdint>
#include <string>

namespace headroom::gpu {

/// Memory use of one card as the driver counts it, from its management library (NVML). NVML needs no CUDA
/// context, so the memory of the context itself counts too. The library is opened if the machine has it.
class DriverMemory {
 public:
  /// `bus_id` as cudaDeviceGetPCIBusId() gives it. What is used now belongs to others.
  explicit DriverMemory(const std::string& bus_id, const char* library = "libnvidia-ml.so.1");
  ~DriverMemory();
  DriverMemory(const DriverMemory&) = delete;
  DriverMemory& operator=(const DriverMemory&) = delete;

  /// False where the library is missing or does not know the card.
  bool known() const { return card_ != nullptr; }
  /// Growth of the card's use since construction, by any process. Returns the last answer where the driver
  /// gives none, so that no decode fails for it. Requires known(). To be called from one thread.
  int64_t grown_bytes() const;

 private:
  void* library_ = nullptr;
  void* card_ = nullptr;
  int64_t before_ = 0;
  mutable int64_t last_ = 0;  ///< answer
};

}  // namespace headroom::gpu
