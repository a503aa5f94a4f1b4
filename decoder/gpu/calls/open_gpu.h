#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "decoder/gpu/calls/device_memory.h"
#include "decoder/gpu/calls/gpu.h"

namespace headroom::gpu {

/// Opens the first GPU. Loads the GPU module, a shared library beside the program. Programs start without the
/// module and without a GPU. Throws DeviceError, which says in one line what is missing.
std::unique_ptr<Gpu> open_gpu();

/// Opens the first GPU with the first of these module files that exists. Throws DeviceError as above.
std::unique_ptr<Gpu> open_gpu(const std::vector<std::filesystem::path>& modules);

/// Opens the first GPU with a module that takes GPU memory from `memory`. Throws DeviceError as above.
std::unique_ptr<Gpu> open_gpu_in(const std::filesystem::path& module, std::unique_ptr<DeviceMemory> memory);

/// Entry points of the modules. They return null on failure and write the reason to `error`.
using OpenGpu = Gpu* (*)(const char* version, char* error, size_t error_bytes);
constexpr const char* kOpenGpu = "headroom_open_gpu";
/// Takes ownership of `memory`, also on failure.
using OpenGpuIn = Gpu* (*)(const char* version, DeviceMemory* memory, char* error, size_t error_bytes);
constexpr const char* kOpenGpuIn = "headroom_open_gpu_in";

}  // namespace headroom::gpu
