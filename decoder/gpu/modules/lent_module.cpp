#include "decoder/base/errors.h"
#include "decoder/base/os/load_module.h"
#include "decoder/gpu/calls/open_gpu.h"
#include "decoder/gpu/cuda/guarded_gpu.h"
#include "decoder/gpu/modules/torch_libraries.h"

using namespace headroom::gpu;

// Entry point of the module for processes with their own allocator, such as any version of Python's torch.
// This module does not link LibTorch. It calls the CUDA libraries that PyTorch has loaded.
extern "C" __attribute__((visibility("default"))) Gpu* headroom_open_gpu_in(const char* version, int device,
                                                                            DeviceMemory* memory, char* error,
                                                                            size_t error_bytes) {
  std::unique_ptr<DeviceMemory> lent(memory);
  return headroom::answer_entry(version, error, error_bytes, [&] {
    if (const char* reason = headroom_refuses_torch()) throw headroom::DeviceError(reason);
    return open_cuda_gpu(device, std::move(lent)).release();
  });
}

static_assert(std::is_same_v<decltype(&headroom_open_gpu_in), OpenGpuIn>);
