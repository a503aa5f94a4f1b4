#pragma once

#include <filesystem>
#include <memory>
#include <mutex>

#include "decoder/gpu/calls/device_memory.h"
#include "decoder/gpu/calls/gpu.h"
#include "planner/python/in_process_decoder.h"

namespace headroom::python {

/// On the first GPU, in memory that the process lends: it is taken when a decode begins and given back when
/// it ends, weights and all.
class GpuDecoder final : public InProcessDecoder {
 public:
  /// Opens the GPU by a module (decoder/gpu/modules). Throws DeviceError where there is none.
  GpuDecoder(std::shared_ptr<const Model> model, const std::filesystem::path& module,
             std::unique_ptr<gpu::DeviceMemory> memory);

  /// Needs weights, and throws what the memory throws.
  RunStats decode(const Call& call) override;

 private:
  const std::shared_ptr<const Model> model_;
  std::mutex mutex_;
  const std::unique_ptr<gpu::Gpu> gpu_;
};

}  // namespace headroom::python
