#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "decoder/gpu/dry_run.h"

namespace headroom::python {

/// A Gpu whose calls run as PyTorch's operations. Each call becomes one call of a method of a Python object
/// (headroom_vae/torch_executor), with plain numbers and tuples. Addresses on the device are numbers that the
/// object chose. Host memory is ordinary memory. All work runs on one stream in order.
class TorchGpu : public DryGpu {
 public:
  explicit TorchGpu(nanobind::object executor);
  ~TorchGpu() override;

  DeviceKind kind() const override { return DeviceKind::torch; }
  std::string device() const override { return text("device_name"); }
  std::string libraries() const override { return text("libraries"); }

  std::byte* reserve(int64_t bytes) override;
  void release() noexcept override;

  void run(const gpu::Call& call) override;
  void copy(gpu::Stream stream, void* to, const void* from, int64_t bytes) override;
  void clear(void* memory, int64_t bytes) override;

  void wait_on_host(gpu::Event) override;
  bool happened(gpu::Event event) override {
    wait_on_host(event);
    return true;
  }

 private:
  std::string text(const char* method) const;

  nanobind::object executor_;
};

}  // namespace headroom::python
