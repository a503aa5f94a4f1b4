#include "decoder/gpu/cuda/library_calls/matrix_attention.h"

#include <algorithm>
#include <vector>

#include "decoder/gpu/calls/softmax.h"
#include "decoder/gpu/calls/workspace.h"

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

/// What of the runs holds positions of a chunk.
std::vector<Run> within(const std::vector<Run>& runs, int64_t begin, int64_t end, int64_t bytes) {
  std::vector<Run> cut;
  for (const Run& run : runs) {
    const int64_t first = std::max(begin, run.first), last = std::min(end, run.first + run.count);
    if (first < last) cut.push_back({run.begin + (first - run.first) * bytes, first, last - first});
  }
  return cut;
}

/// Keys of a chunk, where there is workspace for `most`. Rows of scores, and of the weights that overwrite
/// them, begin at multiples of 32 bytes: kernels of libraries that load 16 bytes at once take no others.
int64_t keys_at_once(int64_t keys, int64_t most) {
  constexpr int64_t kRow = 8;
  const int64_t largest = most / kRow * kRow;
  if (largest == 0) return most;
  const int64_t chunks = (keys + largest - 1) / largest, even = (keys + chunks - 1) / chunks;
  return (even + kRow - 1) / kRow * kRow;
}

/// What attention in chunks is made of, step by step.
class Steps {
 public:
  Steps(const Attend& call, const AttentionChunks& chunks)
      : call_(call), layout_(chunks.layout(call.values.channels)), queries_at_once_(chunks.queries) {
    keys_at_once_ = gpu::keys_at_once(positions_of(call.keys), chunks.keys);
  }

  /// Ends where a product is answered with false.
  template <typename Taker>
  bool go(const Taker& taker) const {
    const int64_t key_count = positions_of(call_.keys);
    const std::vector<Run> keys = runs_of(call_.keys, call_.key_frame),
                           values = runs_of(call_.values, call_.key_frame);
    for (const Run& run : runs_of(call_.queries, call_.query_frame)) {
      for (int64_t done = 0; done < run.count; done += queries_at_once_) {
        const int64_t rows = std::min(queries_at_once_, run.count - done);
        const std::byte* queries = run.begin + done * position_bytes(call_.queries);
        for (int64_t begin = 0; begin < key_count; begin += keys_at_once_) {
          const int64_t end = std::min(key_count, begin + keys_at_once_);
          for (const Run& run_of_chunk : within(keys, begin, end, position_bytes(call_.keys))) {
            if (!taker.multiply(scores(queries, rows, run_of_chunk, begin))) return false;
          }
          taker.weigh(weights(rows, begin, end));
          bool first = begin == 0;
          for (const Run& run_of_chunk : within(values, begin, end, position_bytes(call_.values))) {
            if (!taker.multiply(sums(rows, run_of_chunk, begin, !first))) return false;
            first = false;
          }
        }
        taker.store(means(run.first + done, rows));
      }
    }
    return true;
  }

  /// Memory for the products themselves.
  void* workspace() const { return call_.workspace; }
  int64_t workspace_bytes() const { return layout_.scores; }

 private:
  float* at(int64_t offset) const {
    return reinterpret_cast<float*>(static_cast<std::byte*>(call_.workspace) + offset);
  }

  MatrixProduct scores(const std::byte* queries, int64_t rows, const Run& keys, int64_t begin) const {
    const int64_t depth = call_.queries.channels;
    return {.dtype = call_.queries.dtype,
            .rows = rows,
            .columns = keys.count,
            .depth = depth,
            .a = queries,
            .b = keys.begin,
            .to = at(layout_.scores) + (keys.first - begin),
            .a_row = depth,
            .b_row = depth,
            .to_row = keys_at_once_,
            .transposed = true};
  }

  SoftmaxChunk weights(int64_t rows, int64_t begin, int64_t end) const {
    return {.scores = at(layout_.scores),
            .queries = rows,
            .keys = end - begin,
            .row = keys_at_once_,
            .scale = call_.scale,
            .dtype = call_.queries.dtype,
            .first = begin == 0,
            .largest = at(layout_.largest),
            .weights = at(layout_.weights),
            .sums = at(layout_.sums),
            .channels = call_.values.channels};
  }

  MatrixProduct sums(int64_t rows, const Run& values, int64_t begin, bool add) const {
    const Dtype dtype = call_.queries.dtype;
    const int64_t channels = call_.values.channels;
    return {.dtype = dtype,
            .rows = rows,
            .columns = channels,
            .depth = values.count,
            .a = reinterpret_cast<const std::byte*>(at(layout_.scores)) +
                 (values.first - begin) * bytes_per_element(dtype),
            .b = values.begin,
            .to = at(layout_.sums),
            .a_row = 2 * keys_at_once_,  // weights lie where scores of twice their size were
            .b_row = channels,
            .to_row = channels,
            .add = add};
  }

  StoreWeightedMeans means(int64_t first, int64_t count) const {
    const Box& queried = call_.queries.region;
    return {.sums = at(layout_.sums),
            .weights = at(layout_.weights),
            .target = call_.target,
            .box = {{call_.target_frame, call_.target_frame + 1}, queried.y, queried.x},
            .first = first,
            .count = count};
  }

  const Attend& call_;
  AttentionChunks::Layout layout_;
  int64_t queries_at_once_, keys_at_once_ = 0;
};

/// Asks for every product: what is chosen for one may not be there for another, of fewer rows or at an odd
/// address.
struct Asking {
  const Steps& steps;
  MatrixProducts& products;

  bool multiply(const MatrixProduct& product) const {
    return products.prepare(product, steps.workspace_bytes());
  }
  void weigh(const SoftmaxChunk&) const {}
  void store(const StoreWeightedMeans&) const {}
};

struct Starting {
  const Steps& steps;
  MatrixProducts& products;
  StreamHandle stream;

  bool multiply(const MatrixProduct& product) const {
    products.multiply(product, steps.workspace(), steps.workspace_bytes());
    return true;
  }
  void weigh(const SoftmaxChunk& call) const { gpu::weigh(call, stream); }
  void store(const StoreWeightedMeans& call) const { store_weighted_means(call, stream); }
};

}  // namespace

bool attend_by_matrices(const Attend& call, MatrixProducts& products, StreamHandle stream) {
  const Dtype dtype = call.queries.dtype;
  if (dtype == Dtype::fp32 || call.frames != AttentionFrames::each) return false;
  if (call.keys.dtype != dtype || call.values.dtype != dtype || call.target.dtype != dtype) return false;
  const AttentionChunks chunks = attention_chunks(positions_of(call.queries), positions_of(call.keys),
                                                  call.values.channels, call.workspace_bytes);
  if (chunks.queries == 0) return false;
  const Steps steps(call, chunks);
  return steps.go(Asking{steps, products}) && steps.go(Starting{steps, products, stream});
}

}  // namespace headroom::gpu
