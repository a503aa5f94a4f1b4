#include "tests/support/decoding_gpu.h"

#include "tests/support/gpu.h"

namespace headroom::test {

std::unique_ptr<gpu::Gpu> decoding_gpu() {
  return gpu_or_skip();
}

}  // namespace headroom::test
