#include "decoder/cpu/attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "decoder/cpu/chunk_pipeline.h"
#include "decoder/cpu/cpu_steps.h"
#include "decoder/cpu/loops/loops.h"
#include "decoder/cpu/loops/packing.h"
#include "decoder/cpu/loops/storage.h"
#include "decoder/cpu/rows.h"
#include "decoder/cpu/threads.h"
#include "decoder/graph/geometry.h"
#include "decoder/operations/attention.h"

namespace headroom {
namespace {

using kernels::Product;

/// Source frame and channel of value `number` of a position, for interleaved frames.
struct Interleaved {
  int64_t frames = 1;
  int64_t channel(int64_t number) const { return number / frames; }
  int64_t frame(int64_t number) const { return number % frames; }
};

/// Reads the inputs of attention in fp32, frame by frame and position by position.
class FramesOfMap {
 public:
  /// `frames` uses the frame numbers of the view's region. For interleaved frames it is a single frame,
  /// counted from the view's first.
  FramesOfMap(const MapView& map, int64_t item, const Interval& frames, AttentionFrames order)
      : map_(map),
        item_(item),
        frames_(frames),
        order_(order),
        columns_(map.region.x.length()),
        positions_of_frame_(map.region.y.length() * columns_) {}

  int64_t positions() const { return frames_.length() * positions_of_frame_; }
  int64_t channels() const { return map_.channels; }
  bool is_same_tensor(const FramesOfMap& other) const { return map_.blocks == other.map_.blocks; }
  /// Returns the values of a position in place, or copied into `buffer`, which has room for channels()
  /// floats.
  const float* at(int64_t position, float* buffer) const {
    if (order_ == AttentionFrames::interleaved) return interleaved(position, buffer);
    const void* from = place(frames_.begin + position / positions_of_frame_, position % positions_of_frame_);
    if (map_.dtype == Dtype::fp32) return static_cast<const float*>(from);
    kernels::widen(map_.dtype, from, buffer, map_.channels);
    return buffer;
  }

 private:
  void* place(int64_t frame, int64_t position) const {
    const Region& region = map_.region;
    return map_.place({item_, frame, region.y.begin + position / columns_},
                      region.x.begin + position % columns_);
  }
  const float* interleaved(int64_t position, float* buffer) const {
    const Interleaved order{map_.region.t.length()};
    for (int64_t c = 0; c < map_.channels; ++c) {
      const int64_t number = frames_.begin * map_.channels + c;
      const auto* from =
          static_cast<const std::byte*>(place(map_.region.t.begin + order.frame(number), position));
      kernels::widen(map_.dtype, from + order.channel(number) * bytes_per_element(map_.dtype), buffer + c, 1);
    }
    return buffer;
  }

  const MapView& map_;
  const int64_t item_;
  const Interval frames_;
  const AttentionFrames order_;
  const int64_t columns_, positions_of_frame_;
};

using kernels::panel_columns;

int64_t width_of_panel(int64_t columns, int64_t first) {
  return std::min(panel_columns(), (columns - first + 15) / 16 * 16);
}

/// Computes c = a · panels of b, or adds this to c. Takes as many of a panel's `depth` rows at a time as
/// roughly fit the first-level cache, and multiplies all rows of a by them. Smaller chunks would read and
/// write c more often, which costs more.
struct PanelProduct {
  const float* a;
  int64_t a_row, rows, depth;
  const float* b;
  int64_t columns;
  float* c;
  int64_t c_row;
  bool add;

  void run() const {
    static constexpr kernels::Tap kOne{};
    constexpr int64_t kDepth = 512;
    for (int64_t first = 0; first < columns; first += panel_columns()) {
      Product product;
      product.taps = &kOne;
      product.tap_count = 1;
      product.rows = rows;
      product.a_row = a_row;
      product.c_row = c_row;
      product.width = width_of_panel(columns, first);
      product.columns = std::min(product.width, columns - first);
      product.c = c + first;
      for (int64_t k = 0; k < depth; k += kDepth) {
        product.a = a + k;
        product.depth = std::min(kDepth, depth - k);
        product.b = b + first * depth + k * product.width;
        product.ahead = product.b + product.depth * product.width;  // panels lie one after another
        product.add = add || k > 0;
        kernels::loops().multiply(product);
      }
    }
  }
};

/// softmax(q kᵀ) v of the queries of one frame, in the chunks of AttentionWork.
class FrameAttention {
 public:
  /// `result` has as many rows as `queries`; both are contiguous. After the first part of the keys,
  /// `workspace` and `result` hold the state of the earlier parts.
  FrameAttention(const AttentionWork& work, float* workspace, const float* queries, float* result,
                 bool first = true)
      : work_(work), queries_(queries), result_(result), first_(first) {
    for (int64_t i = 0; i < work.chunks_at_once; ++i) {
      packed_[i] = {workspace, workspace + work.key_floats()};
      workspace = packed_[i].values + work.value_floats();
    }
    largest_ = workspace;
    weights_ = largest_ + work.queries;
    scores_ = weights_ + work.queries;
    if (!first) return;
    std::fill_n(largest_, work.queries, -std::numeric_limits<float>::infinity());
    std::fill_n(weights_, work.queries, 0.0f);
  }

  void add(const FramesOfMap& keys, const FramesOfMap& values, const ToldShare& told) {
    const int64_t positions = keys.positions();
    const int64_t blocks = ceil_divide(work_.queries, work_.block);
    const int64_t chunks = ceil_divide(positions, work_.chunk);
    const auto keys_of = [&](int64_t chunk) {
      return Interval{chunk * work_.chunk, std::min(positions, (chunk + 1) * work_.chunk)};
    };
    const bool one_tensor = keys.is_same_tensor(values);
    ChunkPipeline pipeline(chunks, ceil_divide(work_.chunk, kPart), blocks);
    pipeline.run(
        [&](int64_t chunk, int64_t part) {
          pack(keys, one_tensor ? nullptr : &values, keys_of(chunk), part, packed_[chunk % 2]);
        },
        [&](int64_t chunk, int64_t block) {
          add_chunk({block * work_.block, std::min(work_.queries, (block + 1) * work_.block)}, keys_of(chunk),
                    packed_[chunk % 2]);
          told.done(double(chunk * blocks + block + 1) / double(chunks * blocks));
        });
  }

  /// Call after the last keys.
  void finish() {
    for_lines(work_.queries, work_.channels, [&](int64_t i) {
      kernels::loops().scale(result_ + i * work_.channels, work_.channels, 1 / weights_[i]);
    });
  }

 private:
  /// The keys and values of a chunk, in panels.
  struct Packed {
    float* keys = nullptr;
    float* values = nullptr;
  };
  static constexpr int64_t kPart = 16;  ///< positions that are packed together

  /// Packs one part of a chunk. Keys become columns, values become rows.
  /// Without `values`, the keys are the values too.
  void pack(const FramesOfMap& keys, const FramesOfMap* values, const Interval& chunk, int64_t part,
            const Packed& packed) const {
    const int64_t count = chunk.length(), first = part * kPart, there = std::min(count - first, kPart);
    if (there <= 0) return;
    std::vector<float> buffer(static_cast<size_t>(kPart * work_.channels));
    std::array<const float*, kPart> rows{};
    const auto read = [&](const FramesOfMap& map) {
      for (int64_t i = 0; i < there; ++i)
        rows[static_cast<size_t>(i)] = map.at(chunk.begin + first + i, buffer.data() + i * work_.channels);
    };
    read(keys);
    const int64_t panel = first / panel_columns() * panel_columns();
    pack_keys(rows, there, packed.keys + panel * work_.channels + first - panel,
              width_of_panel(count, panel));
    if (values != nullptr) read(*values);
    pack_values(rows, there, packed.values, count, first);
  }

  /// Packs keys into columns of a panel of `width` columns. Takes a few channels at a time, so that the
  /// written lines stay in the first-level cache until they are complete. Columns from `there` on are zeros.
  void pack_keys(const std::array<const float*, kPart>& keys, int64_t there, float* columns,
                 int64_t width) const {
    constexpr int64_t kChannels = 16;
    for (int64_t begin = 0; begin < work_.channels; begin += kChannels) {
      const int64_t end = std::min(work_.channels, begin + kChannels);
      for (int64_t i = 0; i < kPart; ++i) {
        const float* key = keys[static_cast<size_t>(i)];
        for (int64_t c = begin; c < end; ++c) columns[c * width + i] = i < there ? key[c] : 0.0f;
      }
    }
  }

  /// Packs values into rows from `first` on, in all panels of a chunk of `count` keys.
  void pack_values(const std::array<const float*, kPart>& values, int64_t there, float* panels, int64_t count,
                   int64_t first) const {
    for (int64_t begin = 0; begin < work_.channels; begin += panel_columns()) {
      const int64_t width = width_of_panel(work_.channels, begin);
      const int64_t channels = std::min(width, work_.channels - begin);
      for (int64_t i = 0; i < there; ++i) {
        float* row = panels + begin * count + (first + i) * width;
        std::copy_n(values[static_cast<size_t>(i)] + begin, channels, row);
        std::fill_n(row + channels, width - channels, 0.0f);
      }
    }
  }

  void add_chunk(const Interval& block, const Interval& chunk, const Packed& packed) const {
    const int64_t count = chunk.length(), channels = work_.channels, row = work_.packed_keys();
    float* scores = scores_ + thread_number() * work_.score_floats();
    const float* queries = queries_ + block.begin * channels;
    float* result = result_ + block.begin * channels;
    PanelProduct{queries, channels, block.length(), channels, packed.keys, count, scores, row, false}.run();
    for (int64_t i = 0; i < block.length(); ++i) weigh(block.begin + i, scores + i * row, count);
    PanelProduct{scores, row,           block.length(),
                 count,  packed.values, channels,
                 result, channels,      !first_ || chunk.begin > 0}
        .run();
  }

  /// Turns scores into softmax weights relative to the largest score so far. Rescales the earlier sums to
  /// match.
  void weigh(int64_t query, float* scores, int64_t count) const {
    const kernels::Loops& loops = kernels::loops();
    const float before = largest_[query];
    const float now = std::max(before, loops.largest(scores, count));
    const float kept_share = before == now ? 1.0f : std::exp(before - now);
    const float sum = loops.exponentials(scores, count, now);
    weights_[query] = weights_[query] * kept_share + sum;
    largest_[query] = now;
    if (kept_share != 1.0f && std::isfinite(before))
      loops.scale(result_ + query * work_.channels, work_.channels, kept_share);
  }

  const AttentionWork work_;
  const float* queries_;
  float* result_;
  const bool first_;
  std::array<Packed, 2> packed_;  ///< of this chunk and of the next
  float *largest_, *weights_, *scores_;
};

/// Copies queries to contiguous fp32 rows, as a product reads them.
void copy_frame(const FramesOfMap& from, float* to) {
  for_lines(from.positions(), from.channels(), [&](int64_t i) {
    float* line = to + i * from.channels();
    const float* values = from.at(i, line);
    if (values != line) std::copy_n(values, from.channels(), line);
  });
}

/// Scatters the result of one interleaved frame to the frames and channels of the clip.
void put_interleaved(const float* result, const MapView& target, int64_t item, int64_t frame) {
  const int64_t channels = target.channels, positions = target.block_rows * target.region.x.length();
  const Interleaved order{target.region.t.length()};
  auto* to = static_cast<float*>(target.blocks[static_cast<size_t>(item)]);
  for_lines(positions, channels, [&](int64_t i) {
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t number = frame * channels + c;
      to[(order.frame(number) * positions + i) * channels + order.channel(number)] = result[i * channels + c];
    }
  });
}

}  // namespace

void attend(LimitedPool& pool, const AttentionInputs& inputs, AttentionFrames frames, const MapView& target,
            int64_t items, const ToldShare& told) {
  const MapView& queries = inputs.queries;
  const int64_t channels = target.channels;
  const int64_t count = queries.block_rows * queries.region.x.length();
  const int64_t frames_of_clip = inputs.keys.region.t.end;
  // The last frame has the most keys.
  const int64_t key_frames = attended_frames(frames, target.region.t.end - 1, frames_of_clip).length();
  const int64_t keys_of_frame = inputs.keys.region.y.length() * inputs.keys.region.x.length();
  const AttentionWork work = attention_work(count, key_frames * keys_of_frame, channels);
  const std::shared_ptr<float> workspace = pool.take_floats(work.floats(thread_count()));
  const bool interleaved = frames == AttentionFrames::interleaved;
  const std::shared_ptr<float> copied = interleaved ? pool.take_floats(count * channels) : nullptr;
  const std::shared_ptr<float> mixed = interleaved ? pool.take_floats(count * channels) : nullptr;
  const int64_t frames_of_item = target.region.t.length();
  for (int64_t item = 0; item < items; ++item) {
    for (int64_t f = 0; f < frames_of_item; ++f) {
      // Interleaved frames are counted from the view's first frame, others by their number in the clip.
      const int64_t frame = interleaved ? f : target.region.t.begin + f;
      const Interval attended = attended_frames(frames, frame, frames_of_clip);
      const FramesOfMap own(queries, item, {frame, frame + 1}, frames);
      const float* from = interleaved ? copied.get() : own.at(0, nullptr);
      if (interleaved) copy_frame(own, copied.get());
      float* to = interleaved
                      ? mixed.get()
                      : static_cast<float*>(target.blocks[static_cast<size_t>(item)]) + f * count * channels;
      FrameAttention attention(work, workspace.get(), from, to);
      attention.add(FramesOfMap(inputs.keys, item, attended, frames),
                    FramesOfMap(inputs.values, item, attended, frames),
                    told.part(item * frames_of_item + f, items * frames_of_item));
      attention.finish();
      if (interleaved) put_interleaved(mixed.get(), target, item, f);
    }
  }
  told.done(1);
}

namespace {

/// Adds one block of keys to the attention of one frame of one item. Until the last block the target holds
/// partial sums.
void attend_block(const AttentionWork& work, float* workspace, const StepCall& call, const ToldShare& told) {
  constexpr AttentionFrames kOrder = AttentionFrames::each;  // frames as they are
  const KeyBlock& block = *call.block;
  const FramesOfMap own(call.inputs[0], block.item, {block.frame, block.frame + 1}, kOrder);
  const int64_t before = block.frame - call.target.region.t.begin;
  float* to = static_cast<float*>(call.target.blocks[static_cast<size_t>(block.item)]) +
              before * work.queries * work.channels;
  FrameAttention attention(work, workspace, own.at(0, nullptr), to, block.first);
  attention.add(FramesOfMap(call.inputs[1], 0, block.frames, kOrder),
                FramesOfMap(call.inputs[2], 0, block.frames, kOrder), told);
  if (block.last) attention.finish();
  told.done(1);
}

}  // namespace

void cpu_steps::attention(CpuSteps& steps, const StepCall& call) {
  const ToldShare told(steps.on_share);
  if (!call.block) {
    return attend(steps.pool, {call.inputs[0], call.inputs[1], call.inputs[2]}, call.op->frames, call.target,
                  call.items, told);
  }
  const int64_t queries = call.target.region.y.length() * call.target.region.x.length();
  const AttentionWork work = attention_work(
      queries, most_attended_keys(steps.graph, *call.op, steps.sizes.latent), call.target.channels);
  if (call.block->first) steps.attending = steps.pool.take_floats(work.floats(thread_count()));
  attend_block(work, steps.attending.get(), call, told);
  if (call.block->last) steps.attending.reset();
}

}  // namespace headroom
