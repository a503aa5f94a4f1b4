#include "decoder/base/os/load_module.h"
#include "decoder/gpu/calls/open_gpu.h"
#include "decoder/gpu/cuda/guarded_gpu.h"
#include "decoder/torch/libtorch_memory.h"

using namespace headroom::gpu;

// Entry point of the module for programs. GPU memory comes from LibTorch's allocator.
extern "C" __attribute__((visibility("default"))) Gpu* headroom_open_gpu(const char* version, int device,
                                                                         char* error, size_t error_bytes) {
  return headroom::answer_entry(version, error, error_bytes, [&] {
    return open_cuda_gpu(device, std::make_unique<LibtorchMemory>(device)).release();
  });
}

static_assert(std::is_same_v<decltype(&headroom_open_gpu), OpenGpu>);
