#include <cuda.h>

#include <cstdio>

#include "tests/air_card/card.h"

// The part of libcuda.so.1 that PyTorch and Headroom use. make_stubs.py generates stubs for the other
// functions that PyTorch asks for. A context's handle is its device's number plus one.
namespace headroom::air {
namespace {

bool is_device(CUdevice device) {
  return device >= 0 && device < devices();
}
CUcontext handle_of(int device) {
  return reinterpret_cast<CUcontext>(static_cast<uintptr_t>(device + 1));  // NOLINT: a handle, no address
}
int ordinal_of(CUcontext context) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(context)) - 1;
}

}  // namespace

AIR_API CUresult cuInit(unsigned) {
  return CUDA_SUCCESS;
}
AIR_API CUresult cuDriverGetVersion(int* version) {
  *version = 13000;
  return CUDA_SUCCESS;
}
AIR_API CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (!is_device(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}
AIR_API CUresult cuDeviceGetName(char* name, int bytes, CUdevice device) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  std::snprintf(name, static_cast<size_t>(bytes), "air card %d.%d", capability().major, capability().minor);
  return CUDA_SUCCESS;
}
AIR_API CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  const std::lock_guard lock(mutex());
  *flags = 0;
  *active = has_context(device) ? 1 : 0;
  return CUDA_SUCCESS;
}
AIR_API CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  const std::lock_guard lock(mutex());
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  create_context(device);
  *context = handle_of(device);
  return CUDA_SUCCESS;
}
AIR_API CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = handle_of(current_context());
  return CUDA_SUCCESS;
}
AIR_API CUresult cuCtxSetCurrent(CUcontext context) {
  const std::lock_guard lock(mutex());
  const int device = ordinal_of(context);
  if (context != nullptr && !has_context(device)) {
    wrong_use("cuCtxSetCurrent: the context does not exist");
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  set_current_context(device);
  return CUDA_SUCCESS;
}
AIR_API CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "the air card has no driver";
  return CUDA_SUCCESS;
}

}  // namespace headroom::air
