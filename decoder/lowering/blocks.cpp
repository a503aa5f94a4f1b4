#include "decoder/lowering/blocks.h"

#include <algorithm>

#include "decoder/graph/geometry.h"
#include "decoder/lowering/allocation.h"
#include "decoder/lowering/storage.h"

namespace headroom {
namespace {

// Larger tensors have larger blocks: a plan's size and the time to check it do not grow with the picture.
constexpr int64_t kMostBlocks = 256;

}  // namespace

int64_t block_rows(int64_t rows, int64_t row_bytes, int64_t block_bytes) {
  if (rows == 0) return 1;
  const int64_t blocks = std::clamp<int64_t>(rows * row_bytes / block_bytes, 1, std::min(rows, kMostBlocks));
  return ceil_divide(rows, blocks);
}

int64_t block_rows(const Graph& graph, TensorId id, const Sizes& sizes, int64_t block_bytes) {
  return block_rows(own_rows(sizes, graph.tensor(id).scale.y).length(), row_bytes(graph, id, sizes),
                    block_bytes);
}

int64_t block_count(const Graph& graph, const TensorUse& use, const Sizes& sizes) {
  return ceil_divide(kept_rows(graph, use, sizes).length(), use.block_rows);
}

int64_t kept_block_bytes(const Graph& graph, const TensorUse& use, const Sizes& sizes) {
  return allocated_bytes(use.block_rows * row_bytes(graph, use.tensor, sizes), sizes.device);
}

int64_t kept_bytes(const Graph& graph, const TensorUse& use, const Sizes& sizes) {
  return sizes.items * block_count(graph, use, sizes) * kept_block_bytes(graph, use, sizes);
}

ScratchLayout scratch_layout(const Graph& graph, const Plan& plan) {
  const Sizes sizes = sizes_of(graph, plan);
  ScratchLayout layout;
  for (const KeptTensor& kept : plan.kept) {
    if (kept.tier != MemoryTier::scratch) continue;
    const int64_t bytes = kept.block_rows * row_bytes(graph, kept.tensor, sizes);
    layout.slot_bytes = std::max(layout.slot_bytes, cpu::round_up(bytes, cpu::kPageBytes));
    for (int32_t number : kept.blocks) layout.slots = std::max(layout.slots, int64_t{number} + 1);
  }
  return layout;
}

}  // namespace headroom
