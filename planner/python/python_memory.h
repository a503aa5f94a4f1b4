#pragma once

#include <nanobind/nanobind.h>

#include "decoder/gpu/calls/device_memory.h"

namespace headroom::python {

/// GPU memory lent by a Python object with four methods: name(); reserve(bytes), which returns an address or
/// raises; stream(), which returns a CUDA stream handle; and release().
class PythonMemory final : public gpu::DeviceMemory {
 public:
  explicit PythonMemory(nanobind::object memory);
  ~PythonMemory() override;

  std::string name() const override;
  std::byte* reserve(int64_t bytes) override;
  void* stream() override;
  void release() noexcept override;

 private:
  nanobind::object memory_;
};

}  // namespace headroom::python
