#include <algorithm>
#include <cstring>
#include <exception>

#include "decoder/gpu/calls/open_gpu.h"
#include "decoder/gpu/cuda/cuda_gpu.h"

// The module's only entry (decoder/gpu/calls/open_gpu.h).
extern "C" __attribute__((visibility("default"))) headroom::gpu::Gpu* headroom_open_gpu(const char* version,
                                                                                        char* error,
                                                                                        size_t error_bytes) {
  const auto fail = [&](const char* why) {
    const size_t length = std::min(std::strlen(why), error_bytes - 1);
    std::memcpy(error, why, length);
    error[length] = '\0';
    return nullptr;
  };
  if (std::strcmp(version, HEADROOM_VERSION) != 0)
    return fail("it belongs to another version: " HEADROOM_VERSION);
  try {
    return new headroom::gpu::CudaGpu;
  } catch (const std::exception& failure) {
    return fail(failure.what());
  }
}

static_assert(std::is_same_v<decltype(&headroom_open_gpu), headroom::gpu::OpenGpu>);
