#pragma once

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

}  // namespace headroom::gpu
