#include "decoder/gpu/cuda/device.h"

#include <cuda.h>
#include <array>

#include "decoder/base/errors.h"
#include "decoder/base/os/load_module.h"
#include "decoder/gpu/cuda/status.h"

namespace headroom::gpu {
namespace {

/// Lowest compute capability (major) that the kernels are compiled for.
constexpr int kLeastMajor = 8;

int attribute(int device, cudaDeviceAttr asked) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, asked, device), "cudaDeviceGetAttribute");
  return value;
}

[[noreturn]] void refuse_without_device(cudaError_t status) {
  cudaGetLastError();
  int version = 0;
  const bool driver = cudaDriverGetVersion(&version) == cudaSuccess && version > 0;
  throw DeviceError(std::string("no GPU: ") + (driver ? "" : "no NVIDIA driver is loaded: ") +
                    (status == cudaSuccess ? "CUDA shows none" : cudaGetErrorString(status)));
}

void check_driver(CUresult status, const char* call) {
  if (status != CUDA_SUCCESS) throw DeviceError(std::string(call) + ": CUresult " + std::to_string(status));
}

template <typename Function>
Function required(void* library, const char* name) {
  const auto found = function_of<Function>(library, name);
  if (found == nullptr) throw DeviceError(std::string("the NVIDIA driver has no ") + name);
  return found;
}

}  // namespace

void require_device(int device) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) refuse_without_device(status);
  if (device >= count) {
    throw DeviceError(
        "cuda:" + std::to_string(device) + ": there " +
        (count == 1 ? "is one GPU, cuda:0"
                    : "are " + std::to_string(count) + " GPUs, cuda:0 to cuda:" + std::to_string(count - 1)));
  }
  const int major = attribute(device, cudaDevAttrComputeCapabilityMajor);
  if (major >= kLeastMajor) return;
  const int minor = attribute(device, cudaDevAttrComputeCapabilityMinor);
  throw DeviceError("the GPU has compute capability " + std::to_string(major) + "." + std::to_string(minor) +
                    ", needed is " + std::to_string(kLeastMajor) + ".0");
}

std::string bus_id(int device) {
  std::array<char, 32> text{};
  check(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), device), "cudaDeviceGetPCIBusId");
  return text.data();
}

// cudaGetDeviceProperties() is not used for the name: its structure differs between CUDA 12 and 13.
std::string device_name(int device) {
  void* driver = open_library("libcuda.so.1");
  check_driver(required<decltype(&cuInit)>(driver, "cuInit")(0), "cuInit");
  CUdevice found = 0;
  check_driver(required<decltype(&cuDeviceGet)>(driver, "cuDeviceGet")(&found, device), "cuDeviceGet");
  std::array<char, 256> text{};
  check_driver(required<decltype(&cuDeviceGetName)>(driver, "cuDeviceGetName")(
                   text.data(), static_cast<int>(text.size()), found),
               "cuDeviceGetName");
  return text.data();
}

/// Functions of the driver's library, which CUDA's runtime loads too.
struct DeviceContext::Functions {
  void* library = open_library("libcuda.so.1");
  decltype(&cuInit) init = required<decltype(&cuInit)>(library, "cuInit");
  decltype(&cuDeviceGet) get_device = required<decltype(&cuDeviceGet)>(library, "cuDeviceGet");
  decltype(&cuDevicePrimaryCtxRetain) retain =
      required<decltype(&cuDevicePrimaryCtxRetain)>(library, "cuDevicePrimaryCtxRetain");
  decltype(&cuCtxGetCurrent) get_current = required<decltype(&cuCtxGetCurrent)>(library, "cuCtxGetCurrent");
  decltype(&cuCtxSetCurrent) set_current = required<decltype(&cuCtxSetCurrent)>(library, "cuCtxSetCurrent");
};

DeviceContext::DeviceContext(int device) : driver_(std::make_shared<const Functions>()) {
  check_driver(driver_->init(0), "cuInit");
  CUdevice found = 0;
  check_driver(driver_->get_device(&found, device), "cuDeviceGet");
  CUcontext context = nullptr;
  check_driver(driver_->retain(&context, found), "cuDevicePrimaryCtxRetain");
  context_ = context;
}

CurrentContext::CurrentContext(const DeviceContext& context) : context_(context) {
  CUcontext previous = nullptr;
  check_driver(context.driver_->get_current(&previous), "cuCtxGetCurrent");
  previous_ = previous;
  if (previous_ != context_.context_)
    check_driver(context.driver_->set_current(static_cast<CUcontext>(context_.context_)), "cuCtxSetCurrent");
}

CurrentContext::~CurrentContext() {
  if (previous_ != context_.context_) context_.driver_->set_current(static_cast<CUcontext>(previous_));
}

namespace {

// Declarations of the four NVML functions that are used. Their ABI has not changed since NVML's first
// release.
struct Memory {
  unsigned long long total, free, used;
};
using Init = int (*)();
using Shutdown = int (*)();
using FindCard = int (*)(const char* bus_id, void** card);
using GetMemory = int (*)(void* card, Memory* memory);

}  // namespace

DriverMemory::DriverMemory(const std::string& bus_id, const char* library) : library_(open_library(library)) {
  const auto init = function_of<Init>(library_, "nvmlInit_v2");
  const auto find_card = function_of<FindCard>(library_, "nvmlDeviceGetHandleByPciBusId_v2");
  const auto get_memory = function_of<GetMemory>(library_, "nvmlDeviceGetMemoryInfo");
  const bool there = init != nullptr && find_card != nullptr && get_memory != nullptr &&
                     function_of<Shutdown>(library_, "nvmlShutdown") != nullptr && init() == 0;
  if (!there) {
    if (library_ != nullptr) close_library(library_);
    library_ = nullptr;
    return;
  }
  Memory memory{};
  if (find_card(bus_id.c_str(), &card_) != 0 || get_memory(card_, &memory) != 0) card_ = nullptr;
  before_ = last_ = static_cast<int64_t>(memory.used);
}

DriverMemory::~DriverMemory() {
  if (library_ == nullptr) return;
  function_of<Shutdown>(library_, "nvmlShutdown")();
  close_library(library_);
}

int64_t DriverMemory::grown_bytes() const {
  Memory memory{};
  if (function_of<GetMemory>(library_, "nvmlDeviceGetMemoryInfo")(card_, &memory) == 0)
    last_ = static_cast<int64_t>(memory.used);
  return last_ - before_;
}

}  // namespace headroom::gpu
