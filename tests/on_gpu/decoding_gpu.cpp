#include "tests/support/decoding_gpu.h"

#include <utility>

#include "tests/support/forwarding_gpu.h"
#include "tests/support/gpu.h"

namespace headroom::test {
namespace {

/// This machine's GPU without rounding of reservations, like the emulated one. Test decodes are far smaller
/// than the smallest reservation of LibTorch's allocator.
class ExactGpu final : public ForwardingGpu {
 public:
  explicit ExactGpu(std::unique_ptr<gpu::Gpu> gpu) : ForwardingGpu(*gpu), own_(std::move(gpu)) {}

  ReservationSizes reservation_sizes() const override { return {}; }
  int64_t library_bytes() const override { return gpu_.library_bytes(); }
  void restart_scopes() override { gpu_.restart_scopes(); }
  std::optional<gpu::ScopeSeconds> scope_seconds() override { return gpu_.scope_seconds(); }
  std::vector<gpu::EngineRuns> engine_runs() const override { return gpu_.engine_runs(); }

 private:
  const std::unique_ptr<gpu::Gpu> own_;
};

}  // namespace

std::unique_ptr<gpu::Gpu> decoding_gpu() {
  std::unique_ptr<gpu::Gpu> gpu = gpu_or_skip();
  if (!gpu) return nullptr;
  return std::make_unique<ExactGpu>(std::move(gpu));
}

}  // namespace headroom::test
