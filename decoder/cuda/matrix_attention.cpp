#include "decoder/cuda/matrix_attention.h"

#include <algorithm>
#include <vector>

#include "decoder/kernels/gpu/softmax.h"
#include "decoder/kernels/gpu/workspace.h"

namespace headroom::gpu {
namespace {

/// Positions of a frame that lie one after another.
struct Run {
  const std::byte* begin = nullptr;
  int64_t first = 0, count = 0;  ///< in the frame
};

int64_t columns_of(const View& view) {
  return view.region.x.end - view.region.x.begin;
}
int64_t positions_of(const View& view) {
  return (view.region.y.end - view.region.y.begin) * columns_of(view);
}
int64_t position_bytes(const View& view) {
  return view.channels * bytes_per_element(view.dtype);
}

std::vector<Run> runs_of(const View& view, int32_t frame) {
  const int64_t of_block = view.block_rows * columns_of(view);
  std::vector<Run> runs;
  for (int32_t block = 0; block < view.blocks; ++block) {
    const int64_t first = block * of_block;
    runs.push_back({view.base + view.block_units[block] * kBlockUnit +
                        (frame - view.region.t.begin) * of_block * position_bytes(view),
                    first, std::min(of_block, positions_of(view) - first)});
  }
  return runs;
}

/// The parts of runs that hold positions of a chunk.
std::vector<Run> within(const std::vector<Run>& runs, int64_t begin, int64_t end, int64_t bytes) {
  std::vector<Run> parts;
  for (const Run& run : runs) {
    const int64_t first = std::max(begin, run.first), last = std::min(end, run.first + run.count);
    if (first < last) parts.push_back({run.begin + (first - run.first) * bytes, first, last - first});
  }
  return parts;
}

}  // namespace

bool attend_by_matrices(const Attend& call, MatrixProducts& products, StreamHandle stream) {
  const View &queries = call.queries, &keys = call.keys, &values = call.values;
  const Dtype dtype = queries.dtype;
  if (dtype == Dtype::fp32 || call.frames != AttentionFrames::each) return false;
  if (keys.dtype != dtype || values.dtype != dtype || call.target.dtype != dtype) return false;
  const int64_t key_count = positions_of(keys), depth = queries.channels, channels = values.channels;
  const AttentionChunks chunks =
      attention_chunks(positions_of(queries), key_count, channels, call.workspace_bytes);
  if (chunks.queries == 0) return false;

  const AttentionChunks::Layout layout = chunks.layout(channels);
  auto* workspace = static_cast<std::byte*>(call.workspace);
  auto* scores = reinterpret_cast<float*>(workspace + layout.scores);
  auto* sums = reinterpret_cast<float*>(workspace + layout.sums);
  auto* largest = reinterpret_cast<float*>(workspace + layout.largest);
  auto* weights = reinterpret_cast<float*>(workspace + layout.weights);
  const auto multiply = [&](const MatrixProduct& product) {
    products.multiply(product, workspace, layout.scores);
  };

  const std::vector<Run> key_runs = runs_of(keys, call.key_frame),
                         value_runs = runs_of(values, call.key_frame);
  for (const Run& query_run : runs_of(queries, call.query_frame)) {
    for (int64_t done = 0; done < query_run.count; done += chunks.queries) {
      const int64_t rows = std::min(chunks.queries, query_run.count - done);
      for (int64_t begin = 0; begin < key_count; begin += chunks.keys) {
        const int64_t end = std::min(key_count, begin + chunks.keys);
        for (const Run& run : within(key_runs, begin, end, position_bytes(keys))) {
          multiply({.dtype = dtype,
                    .rows = rows,
                    .columns = run.count,
                    .depth = depth,
                    .a = query_run.begin + done * position_bytes(queries),
                    .b = run.begin,
                    .to = scores + (run.first - begin),
                    .a_row = depth,
                    .b_row = depth,
                    .to_row = chunks.keys,
                    .transposed = true});
        }
        weigh(SoftmaxChunk{.scores = scores,
                           .queries = rows,
                           .keys = end - begin,
                           .row = chunks.keys,
                           .scale = call.scale,
                           .dtype = dtype,
                           .first = begin == 0,
                           .largest = largest,
                           .weights = weights,
                           .sums = sums,
                           .channels = static_cast<int32_t>(channels)},
              stream);
        bool first = begin == 0;
        for (const Run& run : within(value_runs, begin, end, position_bytes(values))) {
          multiply({.dtype = dtype,
                    .rows = rows,
                    .columns = channels,
                    .depth = run.count,
                    .a = reinterpret_cast<const std::byte*>(scores) +
                         (run.first - begin) * bytes_per_element(dtype),
                    .b = run.begin,
                    .to = sums,
                    .a_row = 2 * chunks.keys,  // weights lie where scores of twice their size were
                    .b_row = channels,
                    .to_row = channels,
                    .add = !first});
          first = false;
        }
      }
      store_weighted_means(
          StoreWeightedMeans{
              .sums = sums,
              .weights = weights,
              .target = call.target,
              .box = {{call.target_frame, call.target_frame + 1}, queries.region.y, queries.region.x},
              .first = query_run.first + done,
              .count = rows},
          stream);
    }
  }
  return true;
}

}  // namespace headroom::gpu
