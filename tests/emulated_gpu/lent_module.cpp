#include "decoder/gpu/calls/open_gpu.h"
#include "decoder/loading/answer_entry.h"
#include "tests/emulated_gpu/emulated_gpu.h"

using namespace headroom::gpu;

// The emulated GPU in the place of the CUDA module that takes its memory from the process
// (decoder/gpu/modules).
extern "C" __attribute__((visibility("default"))) Gpu* headroom_open_gpu_in(const char* version,
                                                                            DeviceMemory* memory, char* error,
                                                                            size_t error_bytes) {
  std::unique_ptr<DeviceMemory> lent(memory);
  return headroom::answer_entry(version, error, error_bytes,
                                [&] { return new EmulatedGpu(int64_t{1} << 30, std::move(lent)); });
}
