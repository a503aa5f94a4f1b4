#include "decoder/gpu/memory/gpu_reservation.h"

#include <algorithm>
#include <string>

#include "decoder/base/amounts.h"

namespace headroom {

namespace {

std::string advice(int64_t limit) {
  if (limit == 0) return "no decode fits while other programs use the rest";
  return "a plan for --limit " + std::to_string(limit) + " fits while other programs use the rest";
}

}  // namespace

OutOfGpuMemory::OutOfGpuMemory(const gpu::Gpu& gpu, int64_t bytes)
    : DoesNotFit("cannot have " + format_bytes(bytes) + " of the GPU's memory: of " +
                     format_bytes(gpu.total_bytes()) + ", " + format_bytes(gpu.free_bytes()) +
                     " are free now; " + advice(limit_on_card(gpu)),
                 0) {}

int64_t limit_on_card(const gpu::Gpu& gpu) {
  constexpr int64_t kMargin = int64_t{512} << 20;
  return std::max<int64_t>(0, gpu.free_bytes() - kMargin);
}

}  // namespace headroom
