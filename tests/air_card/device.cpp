#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>
#include <set>
#include <thread>

#include "tests/air_card/card.h"

namespace headroom::air {
namespace {

constexpr size_t kKib = 1024;
constexpr Capability kCapabilities[] = {
    {7, 5, 64 * kKib, 72},   {8, 0, 163 * kKib, 108},  {8, 6, 99 * kKib, 84},  {8, 9, 99 * kKib, 128},
    {9, 0, 227 * kKib, 132}, {10, 0, 227 * kKib, 148}, {12, 0, 99 * kKib, 188}};
constexpr int kVersion = 13000;

constexpr int kNone = -1;
/// Device that cudaSetDevice() chose in this thread. Its context becomes current when a call needs one.
thread_local int chosen_device = 0;
/// Device of the context that is current in this thread.
thread_local int context = kNone;

std::set<int>& contexts() {
  static auto* all = new std::set<int>;  // never freed: calls may come during exit
  return *all;
}
bool is_device(int device) {
  return device >= 0 && device < devices();
}

int attribute(cudaDeviceAttr asked) {
  const Capability& card = capability();
  switch (asked) {
    case cudaDevAttrComputeCapabilityMajor:
      return card.major;
    case cudaDevAttrComputeCapabilityMinor:
      return card.minor;
    case cudaDevAttrMultiProcessorCount:
      return card.multiprocessors;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return static_cast<int>(card.shared_bytes);
    default:
      return 1;
  }
}

/// Runs a call that cannot fail by itself.
template <typename T>
cudaError_t answer(const char* name, T* to, T value) {
  return call(name, cudaErrorLaunchFailure, [&] {
    *to = value;
    return cudaSuccess;
  });
}

}  // namespace

const Capability& capability() {
  static const Capability one = [] {
    const std::string asked = setting("AIR_CAPABILITY", "9.0");
    for (const Capability& known : kCapabilities) {
      if (asked == std::to_string(known.major) + "." + std::to_string(known.minor)) return known;
    }
    wrong_use("AIR_CAPABILITY=" + asked + " is not known");
    return kCapabilities[0];
  }();
  return one;
}

void in_two_halves(int64_t count, const std::function<void(int64_t, int64_t)>& f) {
  std::thread half(f, 0, count / 2);
  f(count / 2, count);
  half.join();
}

int devices() {
  static const int count = static_cast<int>(number_setting("AIR_DEVICES", 1));
  return count;
}

void create_context(int device) {
  if (contexts().insert(device).second) count("contexts");
}
bool has_context(int device) {
  return contexts().count(device) > 0;
}
int current_context() {
  return context;
}
void set_current_context(int device) {
  context = device;
}
int current_device() {
  if (context == kNone) {
    context = chosen_device;
    create_context(context);
  }
  return context;
}
bool is_on_current_device(const char* user, int device) {
  const int current = current_device();
  if (device == current) return true;
  wrong_use(std::string(user) + " of device " + std::to_string(device) + ": the current device is " +
            std::to_string(current));
  return false;
}

AIR_API cudaError_t cudaGetDeviceCount(int* count) {
  return answer(__func__, count, devices());
}
AIR_API cudaError_t cudaGetDevice(int* device) {
  return answer(__func__, device, context == kNone ? chosen_device : context);
}
AIR_API cudaError_t cudaSetDevice(int device) {
  return call(__func__, cudaErrorLaunchFailure, [&] {
    if (!is_device(device)) return cudaErrorInvalidDevice;
    chosen_device = context = device;
    create_context(device);
    return cudaSuccess;
  });
}
AIR_API cudaError_t cudaDriverGetVersion(int* version) {
  return answer(__func__, version, kVersion);
}
AIR_API cudaError_t cudaRuntimeGetVersion(int* version) {
  return answer(__func__, version, kVersion);
}
AIR_API cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr asked, int device) {
  return call(__func__, cudaErrorLaunchFailure, [&] {
    if (!is_device(device)) return cudaErrorInvalidDevice;
    *value = attribute(asked);
    return cudaSuccess;
  });
}
AIR_API cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  return answer(__func__, can, 0);
}
AIR_API cudaError_t cudaDeviceGetPCIBusId(char* text, int bytes, int device) {
  return call(__func__, cudaErrorLaunchFailure, [&] {
    if (!is_device(device)) return cudaErrorInvalidDevice;
    std::snprintf(text, static_cast<size_t>(bytes), "0000:00:%02d.0", 4 + device);
    return cudaSuccess;
  });
}
AIR_API cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return call(__func__, cudaErrorLaunchFailure, [&] {
    *least = 0;
    *greatest = -5;
    return cudaSuccess;
  });
}

AIR_API cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return call(__func__, cudaErrorLaunchFailure, [&] {
    if (!is_device(device)) return cudaErrorInvalidDevice;
    const Capability& card = capability();
    std::memset(properties, 0, sizeof *properties);
    std::snprintf(properties->name, sizeof properties->name, "air card %d.%d", card.major, card.minor);
    properties->pciBusID = 0;
    properties->pciDeviceID = 4 + device;
    properties->major = card.major;
    properties->minor = card.minor;
    properties->multiProcessorCount = card.multiprocessors;
    properties->sharedMemPerBlockOptin = card.shared_bytes;
    properties->sharedMemPerBlock = 48 * kKib;
    properties->maxThreadsPerBlock = 1024;
    properties->maxThreadsPerMultiProcessor = 2048;
    properties->warpSize = 32;
    properties->totalGlobalMem = static_cast<size_t>(number_setting("AIR_TOTAL_MIB", 80 << 10)) << 20;
    return cudaSuccess;
  });
}

}  // namespace headroom::air
