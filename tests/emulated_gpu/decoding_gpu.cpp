#include "tests/support/decoding_gpu.h"

#include "tests/emulated_gpu/emulated_gpu.h"

namespace headroom::test {

std::unique_ptr<gpu::Gpu> decoding_gpu() {
  return std::make_unique<gpu::EmulatedGpu>();
}

}  // namespace headroom::test
