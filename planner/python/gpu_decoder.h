#pragma once

#include <filesystem>
#include <memory>
#include <mutex>

#include "decoder/gpu/calls/device_memory.h"
#include "decoder/gpu/calls/gpu.h"
#include "decoder/gpu/transfers/pinned_weights.h"
#include "planner/python/in_process_decoder.h"

namespace headroom::python {

/// Decodes on a GPU, in memory that the process lends. The memory is taken when a decode begins and
/// given back when it ends. Packed weights stay in pinned host memory between decodes.
class GpuDecoder final : public InProcessDecoder {
 public:
  /// Opens the GPU of CUDA's number `device` with a module (decoder/gpu/modules). Throws DeviceError if there
  /// is none.
  GpuDecoder(std::shared_ptr<const Model> model, const std::filesystem::path& module, int device,
             std::unique_ptr<gpu::DeviceMemory> memory);

  /// Also passes on exceptions of the lent memory.
  RunStats decode(const Call& call) override;
  bool has_weights(const Plan& plan) override;
  void drop_weights() override;
  std::vector<uint64_t> checksums(const std::vector<std::span<const std::byte>>& stretches) override;
  int64_t held_bytes() override;

 private:
  const std::shared_ptr<const Model> model_;
  std::mutex mutex_;
  const std::unique_ptr<gpu::Gpu> gpu_;
  PinnedByDtype packed_;
  std::shared_ptr<std::byte> sums_;  ///< pinned buffer for checksums
  size_t sums_bytes_ = 0;
};

}  // namespace headroom::python
