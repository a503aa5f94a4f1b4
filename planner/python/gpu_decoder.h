#pragma once

#include <filesystem>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "decoder/gpu/calls/device_memory.h"
#include "decoder/gpu/calls/gpu.h"
#include "decoder/gpu/transfers/host_weights.h"
#include "decoder/session/gpu_session.h"
#include "planner/python/in_process_decoder.h"

namespace headroom::python {

/// Decodes on a GPU, in memory that the process lends. The memory is taken when a decode begins and
/// given back when it ends. Weights in the GPU's memory are packed there in each decode. Packed weights from
/// the host stay in pinned host memory between decodes. So do the dry runs of the last few plans.
class GpuDecoder final : public InProcessDecoder {
 public:
  /// Opens the GPU of CUDA's number `device` with a module (decoder/gpu/modules). Throws DeviceError if there
  /// is none.
  GpuDecoder(std::shared_ptr<const Model> model, const std::filesystem::path& module, int device,
             std::unique_ptr<gpu::DeviceMemory> memory);

  /// Decodes by the calls of this GPU.
  GpuDecoder(std::shared_ptr<const Model> model, std::unique_ptr<gpu::Gpu> gpu);

  /// Also passes on exceptions of the lent memory.
  RunStats decode(const Call& call) override;
  bool has_weights(const Plan& plan) override;
  bool keeps_folded() override { return folds_; }
  void drop_weights() override;
  std::vector<uint64_t> checksums(const std::vector<std::span<const std::byte>>& stretches) override;
  int64_t held_bytes() override;

 private:
  /// A plan that was checked, and its dry run.
  struct Prepared {
    std::vector<Plan> plans;  ///< one
    std::shared_ptr<const PreparedPlans> dry;
  };
  static constexpr size_t kMostPrepared = 4;
  const Prepared& prepared(const Plan& plan);

  const std::shared_ptr<const Model> model_;
  const bool folds_;
  std::mutex mutex_;
  const std::unique_ptr<gpu::Gpu> gpu_;
  std::list<Prepared> prepared_;     ///< the last one used first
  PinnedByDtype packed_;             ///< from the host
  PinnedByDtype folded_;             ///< what the host has folded of weights in the GPU's memory
  std::shared_ptr<std::byte> sums_;  ///< pinned buffer for checksums
  size_t sums_bytes_ = 0;
};

}  // namespace headroom::python
