#include "profiler/cupti/calls.h"

#include <unordered_map>

#define DRIVER(name, version, use) \
  { CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_DRIVER_TRACE_CBID_##name##version, #name, CallUse::use }
#define RUNTIME(name, version, use) \
  { CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_##name##_v##version, #name, CallUse::use }

namespace headroom::profiler::cupti {

namespace {

constexpr TracedCall kTracedCalls[]{
    DRIVER(cuLaunchKernel, , launch),
    DRIVER(cuLaunchKernelEx, , launch),
    DRIVER(cuLaunchCooperativeKernel, , launch),
    DRIVER(cuGraphLaunch, , launch),
    RUNTIME(cudaLaunchKernel, 7000, launch),
    RUNTIME(__cudaLaunchKernel, 13000, launch),
    RUNTIME(cudaLaunchKernelExC, 11060, launch),
    RUNTIME(cudaLaunchCooperativeKernel, 9000, launch),
    RUNTIME(cudaGraphLaunch, 10000, launch),

    DRIVER(cuMemcpy, , copy),
    DRIVER(cuMemcpyAsync, , copy),
    DRIVER(cuMemcpyHtoD, _v2, copy),
    DRIVER(cuMemcpyHtoDAsync, _v2, copy),
    DRIVER(cuMemcpyDtoH, _v2, copy),
    DRIVER(cuMemcpyDtoHAsync, _v2, copy),
    DRIVER(cuMemcpyDtoD, _v2, copy),
    DRIVER(cuMemcpyDtoDAsync, _v2, copy),
    DRIVER(cuMemcpy2D, _v2, copy),
    DRIVER(cuMemcpy2DAsync, _v2, copy),
    DRIVER(cuMemcpy3D, _v2, copy),
    DRIVER(cuMemcpy3DAsync, _v2, copy),
    DRIVER(cuMemsetD8, _v2, copy),
    DRIVER(cuMemsetD8Async, , copy),
    DRIVER(cuMemsetD16, _v2, copy),
    DRIVER(cuMemsetD16Async, , copy),
    DRIVER(cuMemsetD32, _v2, copy),
    DRIVER(cuMemsetD32Async, , copy),
    DRIVER(cuMemsetD2D8, _v2, copy),
    DRIVER(cuMemsetD2D8Async, , copy),
    DRIVER(cuMemsetD2D32, _v2, copy),
    DRIVER(cuMemsetD2D32Async, , copy),
    RUNTIME(cudaMemcpy, 3020, copy),
    RUNTIME(cudaMemcpyAsync, 3020, copy),
    RUNTIME(cudaMemcpy2D, 3020, copy),
    RUNTIME(cudaMemcpy2DAsync, 3020, copy),
    RUNTIME(cudaMemcpy3D, 3020, copy),
    RUNTIME(cudaMemcpy3DAsync, 3020, copy),
    RUNTIME(cudaMemcpyToSymbol, 3020, copy),
    RUNTIME(cudaMemcpyToSymbolAsync, 3020, copy),
    RUNTIME(cudaMemset, 3020, copy),
    RUNTIME(cudaMemsetAsync, 3020, copy),
    RUNTIME(cudaMemset2D, 3020, copy),
    RUNTIME(cudaMemset2DAsync, 3020, copy),

    DRIVER(cuMemAlloc, _v2, memory),
    DRIVER(cuMemAllocPitch, _v2, memory),
    DRIVER(cuMemAllocManaged, , memory),
    DRIVER(cuMemFree, _v2, memory),
    DRIVER(cuMemAllocHost, _v2, memory),
    DRIVER(cuMemHostAlloc, , memory),
    DRIVER(cuMemHostAlloc, _v2, memory),
    DRIVER(cuMemFreeHost, , memory),
    DRIVER(cuMemHostRegister, , memory),
    DRIVER(cuMemHostRegister, _v2, memory),
    DRIVER(cuMemHostUnregister, , memory),
    DRIVER(cuArrayCreate, _v2, memory),
    DRIVER(cuArrayDestroy, , memory),
    DRIVER(cuMemAddressReserve, , memory),
    DRIVER(cuMemAddressFree, , memory),
    DRIVER(cuMemCreate, , memory),
    DRIVER(cuMemRelease, , memory),
    DRIVER(cuMemMap, , memory),
    DRIVER(cuMemUnmap, , memory),
    DRIVER(cuMemAllocAsync, , memory),
    DRIVER(cuMemAllocFromPoolAsync, , memory),
    DRIVER(cuMemFreeAsync, , memory),
    DRIVER(cuMemPoolCreate, , memory),
    DRIVER(cuMemPoolDestroy, , memory),
    DRIVER(cuMemPoolTrimTo, , memory),
    // Loading code allocates memory for the code and for kernels' data.
    DRIVER(cuModuleLoad, , memory),
    DRIVER(cuModuleLoadData, , memory),
    DRIVER(cuModuleLoadDataEx, , memory),
    DRIVER(cuModuleLoadFatBinary, , memory),
    DRIVER(cuModuleUnload, , memory),
    DRIVER(cuLibraryLoadData, , memory),
    DRIVER(cuLibraryLoadFromFile, , memory),
    DRIVER(cuLibraryUnload, , memory),
    DRIVER(cuDevicePrimaryCtxRetain, , memory),
    DRIVER(cuDevicePrimaryCtxRelease, _v2, memory),
    DRIVER(cuCtxCreate, _v4, memory),
    DRIVER(cuCtxDestroy, _v2, memory),
    DRIVER(cuCtxSetLimit, , memory),
    RUNTIME(cudaMalloc, 3020, memory),
    RUNTIME(cudaMallocPitch, 3020, memory),
    RUNTIME(cudaMalloc3D, 3020, memory),
    RUNTIME(cudaMallocManaged, 6000, memory),
    RUNTIME(cudaFree, 3020, memory),
    RUNTIME(cudaMallocHost, 3020, memory),
    RUNTIME(cudaHostAlloc, 3020, memory),
    RUNTIME(cudaFreeHost, 3020, memory),
    RUNTIME(cudaHostRegister, 4000, memory),
    RUNTIME(cudaHostUnregister, 4000, memory),
    RUNTIME(cudaMallocAsync, 11020, memory),
    RUNTIME(cudaMallocFromPoolAsync, 11020, memory),
    RUNTIME(cudaFreeAsync, 11020, memory),
    RUNTIME(cudaMemPoolCreate, 11020, memory),
    RUNTIME(cudaMemPoolDestroy, 11020, memory),
    RUNTIME(cudaMemPoolTrimTo, 11020, memory),
};

}  // namespace

std::span<const TracedCall> traced_calls() {
  return kTracedCalls;
}

const char* memory_call_name(CUpti_ActivityKind kind, CUpti_CallbackId id) {
  using Names = std::unordered_map<CUpti_CallbackId, const char*>;
  const auto names_of = [](CUpti_ActivityKind of) {
    Names names;
    for (const TracedCall& call : traced_calls())
      if (call.use == CallUse::memory && call.kind == of) names.emplace(call.id, call.name);
    return names;
  };
  static const Names driver = names_of(CUPTI_ACTIVITY_KIND_DRIVER);
  static const Names runtime = names_of(CUPTI_ACTIVITY_KIND_RUNTIME);
  const Names& names = kind == CUPTI_ACTIVITY_KIND_DRIVER ? driver : runtime;
  const auto found = names.find(id);
  return found == names.end() ? nullptr : found->second;
}

}  // namespace headroom::profiler::cupti
