#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "decoder/gpu/calls/device_memory.h"
#include "decoder/gpu/calls/gpu.h"

namespace headroom::gpu {

/// Opens the first GPU. What talks to it is a module of its own beside the program, which is loaded only
/// here; without it, and on a machine without a GPU, programs run as ever. Throws DeviceError, which says in
/// one line what is missing.
std::unique_ptr<Gpu> open_gpu();

/// Opens the first GPU with the first of these module files that exists. Throws DeviceError as above.
std::unique_ptr<Gpu> open_gpu(const std::vector<std::filesystem::path>& modules);

/// The first GPU, by a module that takes its memory from whoever lends it. Throws as the others do.
std::unique_ptr<Gpu> open_gpu_in(const std::filesystem::path& module, std::unique_ptr<DeviceMemory> memory);

/// The modules' entries: null where it failed, and why in `error`.
using OpenGpu = Gpu* (*)(const char* version, char* error, size_t error_bytes);
constexpr const char* kOpenGpu = "headroom_open_gpu";
/// `memory` is the GPU's from here on, whatever comes of it.
using OpenGpuIn = Gpu* (*)(const char* version, DeviceMemory* memory, char* error, size_t error_bytes);
constexpr const char* kOpenGpuIn = "headroom_open_gpu_in";

}  // namespace headroom::gpu
