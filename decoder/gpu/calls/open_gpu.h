#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "decoder/devices/device_name.h"
#include "decoder/gpu/calls/device_memory.h"
#include "decoder/gpu/calls/gpu.h"

namespace headroom::gpu {

/// Opens a GPU by CUDA's number. Loads the GPU module, a shared library beside the program. Programs start
/// without the module and without a GPU. Throws DeviceError, which says in one line what is missing.
std::unique_ptr<Gpu> open_gpu(int device = 0);

/// Opens the GPU that a plan for this kind of device needs. Null if it needs none.
std::unique_ptr<Gpu> open_gpu_for(DeviceKind planned, int device = 0);
/// Opens the GPU of this name. Null for the CPU and without a name.
std::unique_ptr<Gpu> open_gpu_for(const std::optional<DeviceName>& device);

/// The kind of device that a decode with this GPU runs on. Without a GPU it runs on the host.
DeviceKind kind_of(const Gpu* gpu);

/// Opens a GPU with the first of these module files that exists. Throws DeviceError as above.
std::unique_ptr<Gpu> open_gpu(const std::vector<std::filesystem::path>& modules, int device = 0);

/// Opens a GPU with a module that takes GPU memory from `memory`. Throws DeviceError as above.
std::unique_ptr<Gpu> open_gpu_in(const std::filesystem::path& module, int device,
                                 std::unique_ptr<DeviceMemory> memory);

/// Entry points of the modules. They return null on failure and write the reason to `error`.
using OpenGpu = Gpu* (*)(const char* version, int device, char* error, size_t error_bytes);
constexpr const char* kOpenGpu = "headroom_open_gpu";
/// Takes ownership of `memory`, also on failure.
using OpenGpuIn = Gpu* (*)(const char* version, int device, DeviceMemory* memory, char* error,
                           size_t error_bytes);
constexpr const char* kOpenGpuIn = "headroom_open_gpu_in";

}  // namespace headroom::gpu
