#include <cuda.h>

// The part of libcuda.so.1 that PyTorch uses. make_stubs.py generates stubs for its other functions.
#define AIR_API extern "C" __attribute__((visibility("default")))

AIR_API CUresult cuInit(unsigned) {
  return CUDA_SUCCESS;
}
AIR_API CUresult cuDriverGetVersion(int* version) {
  *version = 13000;
  return CUDA_SUCCESS;
}
AIR_API CUresult cuDevicePrimaryCtxGetState(CUdevice, unsigned* flags, int* active) {
  *flags = 0;
  *active = 1;
  return CUDA_SUCCESS;
}
AIR_API CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "the air card has no driver";
  return CUDA_SUCCESS;
}
