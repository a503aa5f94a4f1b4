#include "decoder/gpu/transfers/host_layout.h"

#include "decoder/gpu/placement/placement.h"
#include "decoder/schedule/blocks.h"

namespace headroom {

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
