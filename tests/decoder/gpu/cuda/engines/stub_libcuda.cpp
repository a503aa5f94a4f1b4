// A library in the place of the driver's, without a device. With no libcuda at all cuDNN leaves out the
// engines that it compiles when a plan is made, so that a plan with one could not be told from none. With
// these names present it offers what it would on a card. Nothing here is ever asked to do something but to
// tell a version.
extern "C" {

enum { kNoDevice = 100 };

int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}

#define HEADROOM_NO_DEVICE(name) \
  int name() {                   \
    return kNoDevice;            \
  }
HEADROOM_NO_DEVICE(cuCtxGetCurrent)
HEADROOM_NO_DEVICE(cuCtxGetLimit)
HEADROOM_NO_DEVICE(cuCtxPopCurrent)
HEADROOM_NO_DEVICE(cuCtxPushCurrent)
HEADROOM_NO_DEVICE(cuDeviceGet)
HEADROOM_NO_DEVICE(cuDeviceGetCount)
HEADROOM_NO_DEVICE(cuGetErrorName)
HEADROOM_NO_DEVICE(cuGetErrorString)
HEADROOM_NO_DEVICE(cuKernelGetAttribute)
HEADROOM_NO_DEVICE(cuKernelSetAttribute)
HEADROOM_NO_DEVICE(cuLaunchCooperativeKernel)
HEADROOM_NO_DEVICE(cuLaunchKernel)
HEADROOM_NO_DEVICE(cuLaunchKernelEx)
HEADROOM_NO_DEVICE(cuLibraryGetKernel)
HEADROOM_NO_DEVICE(cuLibraryLoadData)
HEADROOM_NO_DEVICE(cuLibraryLoadFromFile)
HEADROOM_NO_DEVICE(cuLibraryUnload)
HEADROOM_NO_DEVICE(cuLinkAddData)
HEADROOM_NO_DEVICE(cuLinkComplete)
HEADROOM_NO_DEVICE(cuLinkCreate)
HEADROOM_NO_DEVICE(cuLinkDestroy)
HEADROOM_NO_DEVICE(cuOccupancyMaxPotentialClusterSize)
HEADROOM_NO_DEVICE(cuStreamGetCtx)
#undef HEADROOM_NO_DEVICE

}  // extern "C"
