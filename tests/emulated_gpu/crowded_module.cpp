#include <cstdlib>
#include <string>

#include "decoder/base/errors.h"
#include "decoder/base/os/load_module.h"
#include "decoder/gpu/calls/open_gpu.h"
#include "tests/emulated_gpu/emulated_gpu.h"

using namespace headroom::gpu;

namespace {

/// A GPU shared with other programs. The first HEADROOM_CROWDED_GPU reservations fail. Free memory is 512 MiB
/// plus an extra 64 MiB, and each failure halves the extra part.
class CrowdedGpu final : public EmulatedGpu {
 public:
  CrowdedGpu() {
    if (const char* text = std::getenv("HEADROOM_CROWDED_GPU")) refusals_ = std::stoi(text);
  }

  headroom::ReservationSizes reservation_sizes() const override { return headroom::kLibtorchReservation; }
  int64_t free_bytes() const override { return (int64_t{512} << 20) + left_; }
  std::byte* reserve(int64_t bytes) override {
    if (refusals_-- <= 0) return EmulatedGpu::reserve(bytes);
    left_ /= 2;
    throw headroom::LimitExceeded("others were quicker");
  }

 private:
  int refusals_ = 0;
  int64_t left_ = int64_t{64} << 20;
};

}  // namespace

// Replaces the programs' CUDA module (decoder/gpu/modules).
extern "C" __attribute__((visibility("default"))) Gpu* headroom_open_gpu(const char* version, int,
                                                                         char* error, size_t error_bytes) {
  return headroom::answer_entry(version, error, error_bytes, [] { return new CrowdedGpu; });
}
