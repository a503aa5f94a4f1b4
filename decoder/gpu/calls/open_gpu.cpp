#include "decoder/gpu/calls/open_gpu.h"

#include <array>
#include <string>
#include <utility>

#include "decoder/base/errors.h"
#include "decoder/base/os/load_module.h"

namespace headroom::gpu {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModule = "headroom-cuda.so";

/// Takes the GPU that `open(error, error_bytes)` returns. Throws DeviceError with `error` if the result is
/// null.
template <typename Open>
std::unique_ptr<Gpu> opened(const Open& open) {
  std::array<char, 1024> error{};
  Gpu* gpu = open(error.data(), error.size());
  if (gpu == nullptr) throw DeviceError(std::string("cannot use CUDA: ") + error.data());
  return std::unique_ptr<Gpu>(gpu);
}

}  // namespace

std::unique_ptr<Gpu> open_gpu([[maybe_unused]] int device) {
#ifdef HEADROOM_WHEEL
  throw DeviceError(
      "cannot use CUDA: this program comes from the Python package and decodes on the CPU only. "
      "To use the GPU, call headroom_vae.enable(pipe) in Python, or build the programs from source");
#else
  return open_gpu(module_places(kModule), device);
#endif
}

std::unique_ptr<Gpu> open_gpu_for(DeviceKind planned, int device) {
  if (!device_record(planned).in_programs) {
    throw InputError(
        "the plan is for PyTorch's executor, which runs inside Python alone; expected a plan for " +
        device_names() + ". Use headroom_vae.enable(vae, executor=\"torch\")");
  }
  return device_record(planned).is_host ? nullptr : open_gpu(device);
}

std::unique_ptr<Gpu> open_gpu_for(const std::optional<DeviceName>& device) {
  return device ? open_gpu_for(device->kind, device->index) : nullptr;
}

DeviceKind kind_of(const Gpu* gpu) {
  return gpu == nullptr ? DeviceKind::cpu : gpu->kind();
}

std::unique_ptr<Gpu> open_gpu(const std::vector<fs::path>& modules, int device) {
  const auto open = load_entry<OpenGpu>(present_module(modules, "CUDA"), kOpenGpu);
  return opened([&](char* error, size_t bytes) { return open(HEADROOM_VERSION, device, error, bytes); });
}

std::unique_ptr<Gpu> open_gpu_in(const fs::path& module, int device, std::unique_ptr<DeviceMemory> memory) {
  const auto open = load_entry<OpenGpuIn>(module, kOpenGpuIn);
  return opened([&](char* error, size_t bytes) {
    return open(HEADROOM_VERSION, device, memory.release(), error, bytes);
  });
}

}  // namespace headroom::gpu
