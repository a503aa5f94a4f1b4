#pragma once

#include <cstdint>
#include <memory>
#include <string>

// CUDA's devices by number, and their contexts.
namespace headroom::gpu {

/// Throws DeviceError with the reason unless our kernels run on the device. Creates no CUDA context.
void require_device(int device);

/// PCI bus ID of a device, by which NVML knows it. Creates no CUDA context.
std::string bus_id(int device);

/// Name of a device, such as "NVIDIA H100". Creates no CUDA context.
std::string device_name(int device);

/// The primary context of a device, which CUDA's runtime uses too. It stays until the process ends, as the
/// runtime's own contexts do.
class DeviceContext {
 public:
  /// Creates the context unless the process has it. Throws DeviceError.
  explicit DeviceContext(int device);

 private:
  friend class CurrentContext;
  struct Functions;
  std::shared_ptr<const Functions> driver_;
  void* context_ = nullptr;
};

/// Makes a context current in this thread, so that its device is the current one, and restores the previous
/// context at the end.
///
/// cudaSetDevice() would do so too, but it also creates a context on the device that it restores. That takes
/// several hundred MiB of a device which the caller may never have used.
class CurrentContext {
 public:
  /// Throws DeviceError.
  explicit CurrentContext(const DeviceContext& context);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  const DeviceContext& context_;
  void* previous_ = nullptr;
};

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
