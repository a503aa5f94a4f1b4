#pragma once

#include <memory>

#include "decoder/gpu/calls/device_memory.h"
#include "decoder/gpu/calls/gpu.h"

namespace headroom::gpu {

/// Opens a device by CUDA's number, with memory from `memory`. While one of its functions runs, the device is
/// the thread's current one. Afterwards the thread has its previous device again, also after an exception.
/// Throws DeviceError with the reason if the device is not usable.
std::unique_ptr<Gpu> open_cuda_gpu(int device, std::unique_ptr<DeviceMemory> memory);

}  // namespace headroom::gpu
