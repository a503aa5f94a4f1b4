#include "decoder/lowering/attention.h"

#include <algorithm>

namespace headroom {

AttentionWork attention_work(int64_t queries, int64_t keys, int64_t channels) {
  // Measured at 512 channels: a block's scores and a panel of keys fit the L2 cache together, and larger
  // blocks are no faster. Few queries take smaller blocks to save memory. Both sizes are multiples of the
  // rows of a matrix product's inner kernel.
  constexpr int64_t kChunk = 512, kManyQueries = 768;
  const int64_t block = queries >= kManyQueries ? 96 : 30;
  return {queries, std::min(keys, kChunk), std::min(queries, block), channels, keys > kChunk ? 2 : 1};
}

bool takes_keys_by_block(const Graph& graph, const Op& op) {
  if (op.kind != OpKind::attention || op.frames == AttentionFrames::interleaved) return false;
  const auto read_once = [&](TensorId id) { return graph.readers(id).size() == 1; };
  return op.inputs[1] != op.inputs[2] && op.inputs[0] != op.inputs[1] && op.inputs[0] != op.inputs[2] &&
         read_once(op.inputs[1]) && read_once(op.inputs[2]);
}

std::vector<TensorId> staged_in(const Pass& pass, const std::vector<TensorId>& below) {
  std::vector<TensorId> staged;
  for (const Step& step : pass.steps) {
    if (step.kind != StepKind::attention) continue;
    for (size_t i : {1, 2}) {
      if (contains(below, step.inputs[i].tensor)) staged.push_back(step.inputs[i].tensor);
    }
  }
  return staged;
}

}  // namespace headroom
