#include "decoder/schedule/tensor_use.h"

#include <algorithm>

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

}  // namespace headroom
