#include "decoder/schedule/blocks.h"

#include <algorithm>
#include <set>

#include "decoder/graph/geometry.h"
#include "decoder/schedule/storage.h"

namespace headroom {

TensorUse use_of(const KeptTensor& kept) {
  return {.tensor = kept.tensor, .rows = kept.rows, .block_rows = kept.block_rows, .tier = kept.tier};
}

Interval kept_rows(const Graph& graph, const TensorUse& use, const Sizes& sizes) {
  return kept_rows(graph, use.tensor, use.rows, sizes);
}

std::vector<TensorUse> uses_in(const Plan& plan, size_t pass) {
  const auto number = static_cast<int32_t>(pass);
  std::vector<TensorUse> list;
  for (const KeptTensor& entry : plan.kept) {
    if (number < entry.first_pass || number > entry.last_pass) continue;
    const bool taken_over = std::any_of(plan.kept.begin(), plan.kept.end(), [&](const KeptTensor& other) {
      return other.in_place_of == entry.tensor;
    });
    TensorUse use = use_of(entry);
    use.written = number == entry.first_pass;
    use.leaves = number == entry.last_pass && !taken_over;
    list.push_back(use);
  }
  return list;
}

bool is_taken_over(const Plan& plan, TensorId tensor, size_t pass) {
  return std::any_of(plan.kept.begin(), plan.kept.end(), [&](const KeptTensor& other) {
    return other.in_place_of == tensor && other.first_pass == static_cast<int32_t>(pass);
  });
}

namespace {

// Larger tensors have larger blocks. So neither the plan's size nor the time to check it grows with the
// picture.
constexpr int64_t kMostBlocks = 256;

}  // namespace

int64_t block_rows(const Graph& graph, const TensorUse& use, const Sizes& sizes, int64_t block_bytes) {
  const int64_t rows = kept_rows(graph, use, sizes).length();
  if (rows == 0) return 1;
  const int64_t bytes = rows * row_bytes(graph, use.tensor, sizes);
  return ceil_divide(rows, std::clamp<int64_t>(bytes / block_bytes, 1, std::min(rows, kMostBlocks)));
}

int64_t block_count(const Graph& graph, const TensorUse& use, const Sizes& sizes) {
  return ceil_divide(kept_rows(graph, use, sizes).length(), use.block_rows);
}

int64_t kept_block_bytes(const Graph& graph, const TensorUse& use, const Sizes& sizes) {
  return allocated_bytes(use.block_rows * row_bytes(graph, use.tensor, sizes), sizes);
}

int64_t kept_bytes(const Graph& graph, const TensorUse& use, const Sizes& sizes) {
  return sizes.items * block_count(graph, use, sizes) * kept_block_bytes(graph, use, sizes);
}

ScratchLayout scratch_layout(const Graph& graph, const Plan& plan) {
  const Sizes sizes = sizes_of(graph, plan);
  ScratchLayout layout;
  std::set<int64_t> free;  // the smallest free slot goes first
  const auto take = [&] {
    if (free.empty()) return layout.slots++;
    return free.extract(free.begin()).value();
  };
  for (int32_t pass = 0; pass < static_cast<int32_t>(plan.passes.size()); ++pass) {
    for (const KeptTensor& kept : plan.kept) {
      if (kept.tier != MemoryTier::scratch || kept.first_pass != pass) continue;
      const int64_t bytes = kept.block_rows * row_bytes(graph, kept.tensor, sizes);
      layout.slot_bytes = std::max(layout.slot_bytes, cpu::round_up(bytes, cpu::kPageBytes));
      std::vector<int64_t>& slots = layout.slots_of[kept.tensor];
      slots.resize(static_cast<size_t>(sizes.items * block_count(graph, kept, sizes)));
      std::generate(slots.begin(), slots.end(), take);
    }
    for (const KeptTensor& kept : plan.kept) {
      if (kept.tier != MemoryTier::scratch || kept.last_pass != pass) continue;
      for (const int64_t slot : layout.slots_of.at(kept.tensor)) free.insert(slot);
    }
  }
  return layout;
}

}  // namespace headroom
