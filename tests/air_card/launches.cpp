#include <cuda_runtime_api.h>

#include <map>

#include "tests/air_card/card.h"
#include "tests/air_card/report.h"

namespace headroom::air {
namespace {

constexpr size_t kSharedWithoutAsking = size_t{48} << 10;
constexpr uint32_t kMostThreads = 1024, kMostThreadsZ = 64, kMostBlocksYz = 65535, kMostBlocksX = 0x7fffffff;

struct Kernel {
  std::string name;
  size_t shared_bytes = kSharedWithoutAsking;  ///< limit that the program has set for the kernel
};
std::map<const void*, Kernel>& kernels() {
  static auto* all = new std::map<const void*, Kernel>;  // never freed: calls may come during exit
  return *all;
}

bool run_kernels = false;

std::string text(const uint32_t (&extents)[3]) {
  return std::to_string(extents[0]) + "x" + std::to_string(extents[1]) + "x" + std::to_string(extents[2]);
}

cudaError_t check(const Launch& launch) {
  count("launches");
  count(("launches_on_" + std::to_string(current_device())).c_str());
  note_kernel(launch.kernel);
  if (!is_on_current_device("a kernel's stream", device_of(launch.stream)))
    return cudaErrorInvalidResourceHandle;
  const auto [x, y, z] = launch.threads;
  const auto [columns, rows, frames] = launch.blocks;
  const bool threads_fit =
      x > 0 && y > 0 && z > 0 && z <= kMostThreadsZ && uint64_t{x} * y * z <= kMostThreads;
  const bool blocks_fit = columns > 0 && rows > 0 && frames > 0 && columns <= kMostBlocksX &&
                          rows <= kMostBlocksYz && frames <= kMostBlocksYz;
  if (threads_fit && blocks_fit && launch.shared_bytes <= capability().shared_bytes) return cudaSuccess;
  wrong_use(std::string("kernel ") + launch.kernel + ": " + text(launch.blocks) + " blocks of " +
            text(launch.threads) + " threads with " + std::to_string(launch.shared_bytes) +
            " bytes of shared memory");
  return cudaErrorInvalidConfiguration;
}

cudaError_t start(const void* function, dim3 grid, dim3 block, size_t shared_bytes, const void* stream) {
  const auto found = kernels().find(function);
  if (found == kernels().end()) {
    wrong_use("a launch of a kernel that is not registered");
    return cudaErrorInvalidDeviceFunction;
  }
  const Kernel& kernel = found->second;
  if (shared_bytes > kernel.shared_bytes) {
    wrong_use("kernel " + kernel.name + ": " + std::to_string(shared_bytes) +
              " bytes of shared memory, asked for " + std::to_string(kernel.shared_bytes));
    return cudaErrorInvalidValue;
  }
  return check(
      {kernel.name.c_str(), {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared_bytes, stream});
}

}  // namespace

void kernels_run() {
  run_kernels = true;
}
bool kernels_are_run() {
  return run_kernels;
}

std::string note_launch(const Launch& launch) {
  const cudaError_t status =
      call("cudaLaunchKernelExC", cudaErrorLaunchFailure, [&] { return check(launch); });
  return status == cudaSuccess ? "" : cudaGetErrorString(status);
}

AIR_API cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void**) {
  return call(__func__, cudaErrorLaunchFailure, [&] {
    return start(function, config->gridDim, config->blockDim, config->dynamicSmemBytes, config->stream);
  });
}
/// The kernel handle is the kernel's host function.
AIR_API cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void**,
                                       size_t shared_bytes, cudaStream_t stream) {
  return call(__func__, cudaErrorLaunchFailure,
              [&] { return start(kernel, grid, block, shared_bytes, stream); });
}
AIR_API cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  *kernel = static_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}

AIR_API cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  return call(__func__, cudaErrorLaunchFailure, [&] {
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
    Kernel& kernel = kernels()[function];
    if (value < 0 || static_cast<size_t>(value) > capability().shared_bytes) {
      wrong_use("kernel " + kernel.name + " asks for " + std::to_string(value) + " bytes of shared memory");
      return cudaErrorInvalidValue;
    }
    kernel.shared_bytes = static_cast<size_t>(value);
    return cudaSuccess;
  });
}
AIR_API cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  return call(__func__, cudaErrorLaunchFailure, [&] {
    *attributes = {};
    return cudaSuccess;
  });
}
AIR_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int,
                                                                           size_t, unsigned) {
  return call(__func__, cudaErrorLaunchFailure, [&] {
    *blocks = 1;
    return cudaSuccess;
  });
}

// Functions that nvcc's generated host code calls.

AIR_API void** __cudaRegisterFatBinary(void*) {
  static void* binary = nullptr;
  return &binary;
}
AIR_API void __cudaRegisterFatBinaryEnd(void**) {}
AIR_API void __cudaUnregisterFatBinary(void**) {}
AIR_API void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}
AIR_API char __cudaInitModule(void**) {
  return 0;
}
AIR_API void __cudaRegisterFunction(void**, const char* function, char*, const char* name, int, uint3*,
                                    uint3*, dim3*, dim3*, int*) {
  const std::lock_guard lock(mutex());
  kernels()[function].name = name;
}
/// A nonzero result makes the host code skip the launch. Only PyTorch's own kernels use this path.
AIR_API unsigned __cudaPushCallConfiguration(dim3, dim3, size_t, void*) {
  return 1;
}
AIR_API cudaError_t __cudaPopCallConfiguration(dim3*, dim3*, size_t*, void*) {
  return cudaSuccess;
}

}  // namespace headroom::air
