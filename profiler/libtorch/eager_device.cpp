#include "profiler/libtorch/eager_device.h"

#include <ATen/Context.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <dlfcn.h>
#include <torch/headeronly/version.h>

#include "decoder/graph/errors.h"

namespace headroom::profiler {
namespace {

/// Registers its kernels and its allocator with what is linked. It stays loaded.
void open_cuda() {
  if (dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr)
    throw DeviceError(std::string("LibTorch's CUDA library cannot be loaded: ") + dlerror());
  if (!at::Context::hasCUDA()) throw DeviceError("LibTorch finds no GPU");
  at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);
  // fp32 means fp32, as for what it is compared with.
  at::globalContext().setAllowTF32CuDNN(false);
  at::globalContext().setAllowTF32CuBLAS(false);
}

}  // namespace

EagerDevice::EagerDevice(DeviceKind kind) : device_(c10::DeviceType::CPU) {
  if (kind == DeviceKind::cpu) return;
  open_cuda();
  device_ = c10::Device(c10::DeviceType::CUDA, 0);
}

void EagerDevice::synchronise() const {
  if (device_.is_cpu()) return;
  c10::impl::getDeviceGuardImpl(device_.type())->synchronizeDevice(device_.index());
}

void EagerDevice::drop_cache() const {
  if (!device_.is_cpu()) c10::getDeviceAllocator(device_.type())->emptyCache();
}

std::string libtorch_version() {
  return std::string("LibTorch ") + TORCH_VERSION;
}

}  // namespace headroom::profiler
