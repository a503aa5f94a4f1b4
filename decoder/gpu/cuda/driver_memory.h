#pragma once

#include <cstdint>
#include <string>

namespace headroom::gpu {

/// What the driver counts of one card, by its management library (NVML), which needs no CUDA context: so what
/// the context itself takes can be reported as well. The library is opened where the machine has it.
class DriverMemory {
 public:
  /// `bus_id` as cudaDeviceGetPCIBusId() gives it. What is used now belongs to others.
  explicit DriverMemory(const std::string& bus_id, const char* library = "libnvidia-ml.so.1");
  ~DriverMemory();
  DriverMemory(const DriverMemory&) = delete;
  DriverMemory& operator=(const DriverMemory&) = delete;

  /// False where the library is missing or does not know the card.
  bool known() const { return card_ != nullptr; }
  /// Used since the start, by whomever; what it was last where the driver does not answer, since no decode is
  /// to fail for it. Only where the card is known, and from one thread.
  int64_t grown_bytes() const;

 private:
  void* library_ = nullptr;
  void* card_ = nullptr;
  int64_t before_ = 0;
  mutable int64_t last_ = 0;  ///< answer
};

}  // namespace headroom::gpu
