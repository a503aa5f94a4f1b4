#include "decoder/gpu/transfers/host_memory.h"

#include <string>

#include "decoder/base/amounts.h"
#include "decoder/base/errors.h"

namespace headroom {

std::byte* reserve_staging(gpu::Gpu& gpu, int64_t bytes) {
  try {
    return gpu.reserve_host(bytes);
  } catch (const LimitExceeded&) {
    throw DoesNotFit(
        "cannot pin " + format_bytes(bytes) + " of the host's memory for copies to and from the GPU", 0);
  }
}

HostMemory::HostMemory(gpu::Gpu& gpu, int64_t bytes, int64_t piece_bytes) : piece_bytes_(piece_bytes) {
  for (int64_t begin = 0; begin < bytes; begin += piece_bytes) {
    try {
      pieces_.push_back(gpu.reserve_host(std::min(piece_bytes, bytes - begin)));
    } catch (const LimitExceeded&) {
      throw DoesNotFit("cannot pin " + format_bytes(bytes) + " of the host's memory, only " +
                           format_bytes(begin) + "; a plan for --host-limit " + std::to_string(begin) +
                           " takes no more",
                       0);
    }
  }
}

}  // namespace headroom
