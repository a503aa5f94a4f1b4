#include "decoder/gpu/cuda/library_calls/matrix_attention.h"

#include <algorithm>
#include <map>
#include <vector>

#include "decoder/gpu/calls/workspace.h"

namespace headroom::gpu {
namespace {

/// Contiguous positions of a frame.
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

/// The parts of the runs that lie in positions `begin` to `end` of the frame.
std::vector<Run> within(const std::vector<Run>& runs, int64_t begin, int64_t end, int64_t bytes) {
  std::vector<Run> cut;
  for (const Run& run : runs) {
    const int64_t first = std::max(begin, run.first), last = std::min(end, run.first + run.count);
    if (first < last) cut.push_back({run.begin + (first - run.first) * bytes, first, last - first});
  }
  return cut;
}

/// A chunk of contiguous queries.
struct QueryChunk {
  const std::byte* begin = nullptr;
  int64_t first = 0, count = 0;  ///< in the frame
  size_t kind = 0;
};

/// A contiguous part of a chunk of keys or values.
struct Piece {
  const std::byte* begin = nullptr;
  int64_t offset = 0, count = 0;  ///< in the chunk
  bool add = false;               ///< adds to the sums of earlier values
  size_t kind = 0;
};

/// Keys of one frame.
struct KeyChunk {
  int64_t count = 0;
  std::vector<Piece> keys, values;
};

/// Attention in chunks. Queries and pieces whose products have equal shapes form one kind. The library
/// chooses an algorithm once for each pair of kinds.
class ChunkedAttention {
 public:
  ChunkedAttention(const Attend& call, const AttentionChunks& chunks)
      : call_(call),
        layout_(chunks.layout(call.values.channels)),
        buffers_(chunks.buffers),
        row_(chunks.row()) {
    for (const Run& run : runs_of(call_.queries, call_.query_frame)) {
      for (int64_t done = 0; done < run.count; done += chunks.queries)
        queries_.push_back({run.begin + done * position_bytes(call_.queries), run.first + done,
                            std::min(chunks.queries, run.count - done)});
    }
    // Every frame is cut alike, so that all frames share the shapes of their products.
    const int64_t of_frame = positions_of(call_.keys);
    for (int32_t frame = call_.key_frames.begin; frame < call_.key_frames.end; ++frame) {
      const std::vector<Run> keys = runs_of(call_.keys, frame), values = runs_of(call_.values, frame);
      for (int64_t begin = 0; begin < of_frame; begin += chunks.keys) {
        const int64_t end = std::min(of_frame, begin + chunks.keys);
        KeyChunk chunk{end - begin, {}, {}};
        for (const Run& run : within(keys, begin, end, position_bytes(call_.keys)))
          chunk.keys.push_back({run.begin, run.first - begin, run.count});
        for (const Run& run : within(values, begin, end, position_bytes(call_.values)))
          chunk.values.push_back(
              {run.begin, run.first - begin, run.count, !call_.first || !keys_.empty() || run.first > 0});
        keys_.push_back(std::move(chunk));
      }
    }
  }

  /// False if the library cannot compute a product.
  bool choose(MatrixProducts& products) {
    std::vector<MatrixProduct> of_queries, of_pieces;  // one of each kind
    std::map<ProductShape, size_t> kinds_of_queries, kinds_of_pieces;
    const auto note = [](auto& kinds, auto& examples, const MatrixProduct& product) {
      const auto [found, is_new] = kinds.emplace(shape_of(product), examples.size());
      if (is_new) examples.push_back(product);
      return found->second;
    };
    for (QueryChunk& queries : queries_) {
      MatrixProduct product = scores(queries, keys_.front().keys.front(), 0);
      product.to = sums_of(queries);  // alignment differs: sums may lie anywhere in a state
      queries.kind = note(kinds_of_queries, of_queries, product);
    }
    for (KeyChunk& chunk : keys_) {
      for (Piece& piece : chunk.keys)
        piece.kind = note(kinds_of_pieces, of_pieces, scores(queries_.front(), piece, 0));
      for (Piece& piece : chunk.values)
        piece.kind = note(kinds_of_pieces, of_pieces, sums(queries_.front(), piece, 0));
    }
    kinds_of_pieces_ = of_pieces.size();
    std::map<ProductShape, MatrixProducts::Choice> known;
    for (const MatrixProduct& queries : of_queries) {
      for (MatrixProduct product : of_pieces) {
        product.rows = queries.rows;
        if (product.transposed) {
          product.a = queries.a;
        } else {
          product.to = queries.to;
        }
        const ProductShape shape = shape_of(product);
        auto choice = known.find(shape);
        if (choice == known.end()) {
          const auto made = products.choose(shape, workspace_bytes());
          if (!made) return false;
          choice = known.emplace(shape, *made).first;
        }
        choices_.push_back(choice->second);
      }
    }
    return true;
  }

  void start(MatrixProducts& products, AttentionStreams& streams) const {
    for (const QueryChunk& queries : queries_) {
      start_queries(queries, products, streams);
      if (call_.last) streams.store(means(queries));
    }
  }

 private:
  /// compute          | scores 0 | scores 1 | sums 0  | scores 2 | sums 1  |
  /// beside_compute              | weights 0|  weights 1 | rescale 1 | weights 2
  void start_queries(const QueryChunk& queries, MatrixProducts& products, AttentionStreams& streams) const {
    const auto multiply = [&](const MatrixProduct& product, const Piece& piece) {
      products.multiply(product, choices_[queries.kind * kinds_of_pieces_ + piece.kind], call_.workspace,
                        workspace_bytes());
    };
    const auto multiply_keys = [&](size_t chunk) {
      for (const Piece& piece : keys_[chunk].keys) multiply(scores(queries, piece, buffer_of(chunk)), piece);
      return streams.record(Stream::compute);
    };
    Event scored = multiply_keys(0), summed{};
    for (size_t chunk = 0; chunk < keys_.size(); ++chunk) {
      const bool last = chunk + 1 == keys_.size();
      streams.wait(Stream::beside_compute, scored);
      streams.weigh(weights(queries, chunk));
      if (!last) scored = multiply_keys(chunk + 1);
      if (chunk > 0) streams.wait(Stream::beside_compute, summed);
      if (chunk > 0 || !call_.first) streams.rescale(rescaled(queries));
      streams.wait(Stream::compute, streams.record(Stream::beside_compute));
      for (const Piece& piece : keys_[chunk].values) multiply(sums(queries, piece, buffer_of(chunk)), piece);
      if (!last) summed = streams.record(Stream::compute);
    }
  }

  /// Workspace of the matrix products themselves.
  int64_t workspace_bytes() const { return layout_.scores[0]; }
  size_t buffer_of(size_t chunk) const { return chunk % static_cast<size_t>(buffers_); }
  float* at(int64_t offset) const {
    return reinterpret_cast<float*>(static_cast<std::byte*>(call_.workspace) + offset);
  }

  /// Addresses of the sums, largest scores and weights of these queries: in the workspace, or in a state that
  /// outlives the call.
  float* sums_of(const QueryChunk& queries) const {
    return in_state() ? call_.state.sums + queries.first * call_.values.channels : at(layout_.sums);
  }
  float* largest_of(const QueryChunk& queries) const {
    return in_state() ? call_.state.largest + queries.first : at(layout_.largest);
  }
  float* weights_of(const QueryChunk& queries) const {
    return in_state() ? call_.state.weights + queries.first : at(layout_.weights);
  }
  bool in_state() const { return !(call_.first && call_.last); }
  bool tf32() const { return call_.tf32 && call_.queries.dtype == Dtype::fp32; }

  // Both buffers are aligned alike: they are multiples of 256 bytes apart.
  MatrixProduct scores(const QueryChunk& queries, const Piece& keys, size_t buffer) const {
    const int64_t depth = call_.queries.channels;
    return {.dtype = call_.queries.dtype,
            .rows = queries.count,
            .columns = keys.count,
            .depth = depth,
            .a = queries.begin,
            .b = keys.begin,
            .to = at(layout_.scores[buffer]) + keys.offset,
            .a_row = depth,
            .b_row = depth,
            .to_row = row_,
            .transposed = true,
            .tf32 = tf32()};
  }

  SoftmaxChunk weights(const QueryChunk& queries, size_t chunk) const {
    return {.scores = at(layout_.scores[buffer_of(chunk)]),
            .queries = queries.count,
            .keys = keys_[chunk].count,
            .row = row_,
            .scale = kLog2OfE,
            .dtype = call_.queries.dtype,
            .first = chunk == 0 && call_.first,
            .largest = largest_of(queries),
            .weights = weights_of(queries),
            .factors = at(layout_.factors)};
  }

  RescaleSums rescaled(const QueryChunk& queries) const {
    return {.sums = sums_of(queries),
            .factors = at(layout_.factors),
            .queries = queries.count,
            .channels = call_.values.channels};
  }

  MatrixProduct sums(const QueryChunk& queries, const Piece& values, size_t buffer) const {
    const Dtype dtype = call_.queries.dtype;
    const int64_t channels = call_.values.channels;
    return {.dtype = dtype,
            .rows = queries.count,
            .columns = channels,
            .depth = values.count,
            .a = reinterpret_cast<const std::byte*>(at(layout_.scores[buffer])) +
                 values.offset * bytes_per_element(dtype),
            .b = values.begin,
            .to = sums_of(queries),
            .a_row = row_ * int64_t{sizeof(float)} / bytes_per_element(dtype),  // weights overwrite scores
            .b_row = channels,
            .to_row = channels,
            .add = values.add,
            .tf32 = tf32()};
  }

  StoreWeightedMeans means(const QueryChunk& queries) const {
    const Box& queried = call_.queries.region;
    return {.sums = sums_of(queries),
            .weights = weights_of(queries),
            .target = call_.target,
            .box = {{call_.target_frame, call_.target_frame + 1}, queried.y, queried.x},
            .first = queries.first,
            .count = queries.count};
  }

  const Attend& call_;
  AttentionChunks::Layout layout_;
  int64_t buffers_, row_;
  std::vector<QueryChunk> queries_;
  std::vector<KeyChunk> keys_;
  size_t kinds_of_pieces_ = 0;
  std::vector<MatrixProducts::Choice> choices_;  ///< [kinds of queries][kinds of pieces]
};

uint32_t alignment_of(const void* address) {
  uint32_t alignment = 256;
  while (reinterpret_cast<uintptr_t>(address) % alignment != 0) alignment /= 2;
  return alignment;
}

}  // namespace

ProductShape shape_of(const MatrixProduct& p) {
  return {p.dtype,      p.rows, p.columns, p.depth,           p.a_row,           p.b_row,           p.to_row,
          p.transposed, p.add,  p.tf32,    alignment_of(p.a), alignment_of(p.b), alignment_of(p.to)};
}

bool attend_by_matrices(const Attend& call, MatrixProducts& products, AttentionStreams& streams) {
  const Dtype dtype = call.queries.dtype;
  if (call.interleaved) return false;
  if (call.keys.dtype != dtype || call.values.dtype != dtype || call.target.dtype != dtype) return false;
  const AttentionChunks chunks = attention_chunks(
      positions_of(call.queries), positions_of(call.keys), call.values.channels, call.workspace_bytes,
      streams.processors(), call.key_frames.end - call.key_frames.begin);
  if (chunks.queries == 0) return false;
  ChunkedAttention attention(call, chunks);
  if (!attention.choose(products)) return false;
  attention.start(products, streams);
  return true;
}

}  // namespace headroom::gpu
