#include <algorithm>

#include "decoder/lowering/memory.h"

namespace headroom {

LiveBlocks::LiveBlocks(const Graph& graph, const Pass& pass, const MaterialisedInPass& entry,
                       const Sizes& sizes)
    : graph_(graph),
      pass_(pass),
      materialised_(*entry.materialised),
      written_(entry.written),
      leaves_(entry.leaves),
      below_(entry.materialised->tier != MemoryTier::device),
      count_(block_count(graph, materialised_, sizes)),
      readers_(graph, pass, materialised_.tensor, sizes),
      block_bytes_(sizes.items * materialised_block_bytes(graph, materialised_, sizes)) {}

int64_t LiveBlocks::before_store(size_t band) const {
  if (written_) {
    return band == 0 ? 0
                     : block_bytes_ * (blocks_acquired(graph_, pass_, materialised_, band - 1).end -
                                       first_in_flight(band));
  }
  if (!below_ && (!leaves_ || band == 0)) return block_bytes_ * count_;
  const Interval read = blocks_read(readers_, pass_, materialised_, band);
  if (!below_) return block_bytes_ * (count_ - std::min(count_, read.begin));
  const int64_t end =
      band + 1 < pass_.tiles.y.size() ? blocks_read(readers_, pass_, materialised_, band + 1).end : read.end;
  return block_bytes_ * std::max<int64_t>(0, std::max(read.end, end) - read.begin);
}

int64_t LiveBlocks::after_store(size_t band) const {
  if (!written_) return before_store(band);
  return block_bytes_ * (blocks_acquired(graph_, pass_, materialised_, band).end - first_in_flight(band));
}

/// The first block that is still on the device while a band runs: blocks that the band before completed may
/// be leaving for their tier.
int64_t LiveBlocks::first_in_flight(size_t band) const {
  return below_ && band > 0 ? blocks_completed(graph_, pass_, materialised_, band - 1).begin : 0;
}

}  // namespace headroom
