#include "decoder/operations/attention.h"

#include <algorithm>

#include "decoder/operations/operation.h"

namespace headroom {

int64_t attended_keys(const Graph& graph, const Op& op, const Extent& latent, int64_t frame) {
  const Extent keys = extent_of(graph.tensor(op.inputs[1]), latent);
  return attended_frames(op.frames, frame, keys.t).length() * keys.y * keys.x;
}

int64_t most_attended_keys(const Graph& graph, const Op& op, const Extent& latent) {
  return attended_keys(graph, op, latent, extent_of(graph.tensor(op.output), latent).t - 1);
}

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
  const auto read_by_it_alone = [&](TensorId id) {
    const std::vector<OpId>& readers = graph.readers(id);
    return std::all_of(readers.begin(), readers.end(), [&](OpId reader) {
      const Op& other = graph.op(reader);
      const bool recomputes = other.inputs[0] == id && !is_barrier(other, 0);
      return &other == &op || (recomputes && is_kept_for_barriers_only(graph, id));
    });
  };
  return op.inputs[0] != op.inputs[1] && op.inputs[0] != op.inputs[2] && read_by_it_alone(op.inputs[1]) &&
         read_by_it_alone(op.inputs[2]);
}

std::vector<TensorId> staged_in(const Pass& pass, const std::vector<TensorId>& below) {
  std::vector<TensorId> staged;
  for (const Step& step : pass.steps) {
    if (step.kind != OpKind::attention) continue;
    for (size_t i : {1, 2}) {
      const TensorId id = step.inputs[i].tensor;
      if (contains(below, id) && !contains(staged, id)) staged.push_back(id);
    }
  }
  return staged;
}

namespace operations {

const Operation attention{
    .barrier = BarrierInputs::all_but_first,
    .reads_exact_tile = true,
    .rounds = true,
    .needs_all_frames = [](const Op& op) { return op.frames == AttentionFrames::interleaved; },
    .flops_per_position =
        [](const Graph& graph, const Op& op, const Extent& latent) {
          // The number of keys is constant or grows linearly with the frame, so the mean of both ends is the
          // average.
          const int64_t ends = attended_keys(graph, op, latent, 0) + most_attended_keys(graph, op, latent);
          return 4 * (double(ends) / 2) * double(output_channels(graph, op));
        },
    .table_name =
        [](const Graph& graph, const Op& op) {
          return (op.frames == AttentionFrames::interleaved ? "interleaved attention " : "attention ") +
                 std::to_string(input_channels(graph, op)) + "->" +
                 std::to_string(output_channels(graph, op));
        },
};

}  // namespace operations

int64_t head_channels(const Graph& graph, const Op& op) {
  int64_t channels = 0;
  for (TensorId input : op.inputs)
    channels += graph.tensor(input).statistics ? 0 : graph.tensor(input).channels;
  return channels / (3 * op.groups);
}

namespace operations {
namespace {

std::string heads(const Graph& graph, const Op& op) {
  return std::to_string(op.groups) + " heads of " + std::to_string(head_channels(graph, op));
}

double flops(const Graph& graph, const Op& op, const Extent&) {
  const auto width = double(head_channels(graph, op));
  return 2 * double(op.groups) * width * (width + 1);
}

}  // namespace

const Operation key_value_sums{
    .barrier = BarrierInputs::all,
    .flops_per_position = flops,
    .table_name = [](const Graph& graph, const Op& op) { return "key-value sums of " + heads(graph, op); },
};

const Operation linear_attention{
    .barrier = BarrierInputs::last,
    .pointwise = true,
    .rounds = true,
    .flops_per_position = flops,
    .table_name = [](const Graph& graph, const Op& op) { return "linear attention of " + heads(graph, op); },
};

}  // namespace operations
}  // namespace headroom
