#include "decoder/gpu/transfers/host_memory.h"

#include <string>

#include "decoder/base/amounts.h"
#include "decoder/base/errors.h"
#include "decoder/gpu/placement/placement.h"
#include "decoder/schedule/blocks.h"

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

HostLayout host_layout(const Graph& graph, const Plan& plan) {
  const Sizes sizes = sizes_of(graph, plan);
  MemoryRequests requests;
  std::map<TensorId, int64_t> numbers;
  HostLayout layout;
  for (size_t pass = 0; pass < plan.passes.size(); ++pass) {
    const auto now = static_cast<int32_t>(pass);
    for (const KeptTensor& entry : plan.kept) {
      if (entry.tier != MemoryTier::host || entry.first_pass != now) continue;
      const int64_t block_bytes = kept_block_bytes(graph, entry, sizes);
      numbers[entry.tensor] =
          requests.ask(aligned_bytes(block_bytes * sizes.items * block_count(graph, entry, sizes)));
      layout.tensors[entry.tensor].block_bytes = block_bytes;
    }
    for (const KeptTensor& entry : plan.kept) {
      if (entry.tier == MemoryTier::host && entry.last_pass == now)
        requests.hand_back(numbers.at(entry.tensor));
    }
  }
  const Placement placement = find_placement(requests);
  for (auto& [tensor, buffer] : layout.tensors)
    buffer.offset = placement.offsets[static_cast<size_t>(numbers.at(tensor))];
  layout.bytes = placement.bytes;
  return layout;
}

}  // namespace headroom
