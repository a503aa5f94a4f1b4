#include "decoder/gpu/modules/torch_libraries.h"

#include <cuda_runtime_api.h>

#include <string>

#include "decoder/base/os/load_module.h"

// Functions of CUDA's runtime and of cuBLASLt that jump to those of the libraries that this process's PyTorch
// has loaded. So one module serves PyTorch for CUDA 12 and for CUDA 13: the functions are the same, and only
// the names of the libraries differ. nvcc's own code for kernels calls those that begin with two underscores.

// clang-format off
#define HEADROOM_FUNCTIONS(FUNCTION) \
  FUNCTION(__cudaGetKernel) FUNCTION(__cudaLaunchKernel) FUNCTION(__cudaPopCallConfiguration) \
  FUNCTION(__cudaPushCallConfiguration) FUNCTION(__cudaRegisterFatBinary) FUNCTION(__cudaRegisterFatBinaryEnd) \
  FUNCTION(__cudaRegisterFunction) FUNCTION(__cudaUnregisterFatBinary) \
  FUNCTION(cudaDeviceGetAttribute) FUNCTION(cudaDeviceGetPCIBusId) FUNCTION(cudaDeviceGetStreamPriorityRange) \
  FUNCTION(cudaDeviceSynchronize) FUNCTION(cudaDriverGetVersion) FUNCTION(cudaEventCreate) \
  FUNCTION(cudaEventCreateWithFlags) FUNCTION(cudaEventDestroy) FUNCTION(cudaEventElapsedTime) \
  FUNCTION(cudaEventQuery) FUNCTION(cudaEventRecord) FUNCTION(cudaEventSynchronize) FUNCTION(cudaFreeHost) \
  FUNCTION(cudaFuncSetAttribute) FUNCTION(cudaGetDevice) FUNCTION(cudaGetDeviceCount) FUNCTION(cudaGetErrorName) \
  FUNCTION(cudaGetErrorString) FUNCTION(cudaGetLastError) FUNCTION(cudaHostAlloc) FUNCTION(cudaLaunchKernelExC) \
  FUNCTION(cudaMemGetInfo) FUNCTION(cudaMemcpyAsync) FUNCTION(cudaMemsetAsync) FUNCTION(cudaRuntimeGetVersion) \
  FUNCTION(cudaStreamCreateWithPriority) FUNCTION(cudaStreamDestroy) FUNCTION(cudaStreamWaitEvent) \
  FUNCTION(cublasLtCreate) FUNCTION(cublasLtDestroy) FUNCTION(cublasLtGetStatusName) \
  FUNCTION(cublasLtGetStatusString) FUNCTION(cublasLtGetVersion) FUNCTION(cublasLtMatmul) \
  FUNCTION(cublasLtMatmulAlgoGetHeuristic) FUNCTION(cublasLtMatmulDescInit_internal) \
  FUNCTION(cublasLtMatmulDescSetAttribute) FUNCTION(cublasLtMatmulPreferenceInit_internal) \
  FUNCTION(cublasLtMatmulPreferenceSetAttribute) FUNCTION(cublasLtMatrixLayoutInit_internal)
// clang-format on

#if defined(__x86_64__)
#define HEADROOM_JUMP(name) "endbr64\n jmp *headroom_found_" name "(%rip)\n"
#elif defined(__aarch64__)
#define HEADROOM_JUMP(name) \
  "bti c\n adrp x16, headroom_found_" name "\n ldr x16, [x16, #:lo12:headroom_found_" name "]\n br x16\n"
#endif

extern "C" {
/// Serves until the libraries are found. Its result is an error of CUDA's and of cuBLASLt's.
__attribute__((visibility("hidden"), used)) int headroom_without_library() {
  return 3;
}

#define HEADROOM_FUNCTION(name)                                                                            \
  __attribute__((visibility("hidden"), used)) void* headroom_found_##name =                                \
      reinterpret_cast<void*>(&headroom_without_library);                                                  \
  __asm__(".pushsection .text\n .globl " #name "\n .hidden " #name "\n .type " #name ", @function\n" #name \
          ":\n" HEADROOM_JUMP(#name) ".popsection\n");
HEADROOM_FUNCTIONS(HEADROOM_FUNCTION)
}

namespace {

struct Function {
  const char* name;
  void** found;
};

constexpr Function kFunctions[] = {
#define HEADROOM_ENTRY(name) {#name, &headroom_found_##name},
    HEADROOM_FUNCTIONS(HEADROOM_ENTRY)};

const char* missing = nullptr;

/// Runs before nvcc's code registers the kernels, which calls CUDA's runtime.
__attribute__((constructor(101))) void find_functions() {
  void* torch = headroom::loaded_library("libtorch_cuda.so");
  for (const auto& [name, found] : kFunctions) {
    void* function = headroom::symbol_of(torch, name);  // also in the libraries that it needs
    if (function != nullptr) {
      *found = function;
    } else if (missing == nullptr) {
      missing = name;
    }
  }
}

}  // namespace

const char* headroom_refuses_torch() {
  static const std::string reason = [] {
    if (missing != nullptr)
      return std::string("PyTorch for CUDA is not loaded, or its libraries have no ") + missing;
    int version = 0;
    cudaRuntimeGetVersion(&version);
    if (version / 1000 >= HEADROOM_OLDEST_CUDA) return std::string();
    return std::string(
        "its kernels are for CUDA 13: build it with ptxas of CUDA 12.9 (nvidia-cuda-nvcc-cu12)");
  }();
  return reason.empty() ? nullptr : reason.c_str();
}
