#include "decoder/cpu/attention.h"

#include <ATen/Parallel.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cmath>

#include "decoder/cpu/loops/storage.h"
#include "decoder/cpu/rows.h"
#include "decoder/lowering/memory.h"

namespace headroom {
namespace {

at::Tensor as_sequence(void* data, int64_t positions, int64_t channels) {
  return at::from_blob(data, {1, 1, positions, channels}, at::kFloat);
}

/// Positions of a block that attention takes at one time, in one of the frames that it sees.
struct Run {
  size_t block = 0;
  Interval positions;
  int64_t frame = 0;
};

std::byte* place(const MapView& map, const Run& run, int64_t frame) {
  const int64_t skipped = frame * map.block_rows * map.region.x.length() + run.positions.begin;
  return static_cast<std::byte*>(map.blocks[run.block]) +
         skipped * map.channels * bytes_per_element(map.dtype);
}

/// Values of a frame as fp32: where they lie, or a copy of those that are stored in 16 bits.
at::Tensor sequence_of(const MapView& map, const Run& run) {
  const int64_t count = run.positions.length() * map.channels;
  std::byte* from = place(map, run, run.frame);
  if (map.dtype == Dtype::fp32) return as_sequence(from, run.positions.length(), map.channels);
  const at::Tensor copy = at::empty({1, 1, run.positions.length(), map.channels}, at::kFloat);
  float* to = copy.data_ptr<float>();
  at::parallel_for(0, count, 1 << 15, [&](int64_t begin, int64_t end) {
    kernels::widen(map.dtype, from + begin * bytes_per_element(map.dtype), to + begin, end - begin);
  });
  return copy;
}

/// The frame and the channel that value `number` of a position comes from where frames are interleaved.
struct Interleaved {
  int64_t frames = 1;
  int64_t channel(int64_t number) const { return number / frames; }
  int64_t frame(int64_t number) const { return number % frames; }
};

/// The values of a frame where frames are interleaved.
at::Tensor interleaved_sequence(const MapView& map, const Run& run) {
  const int64_t channels = map.channels;
  const Interleaved order{map.region.t.length()};
  const at::Tensor copy = at::empty({1, 1, run.positions.length(), channels}, at::kFloat);
  float* to = copy.data_ptr<float>();
  for_lines(run.positions.length(), channels, [&](int64_t i) {
    float* values = to + i * channels;
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t number = run.frame * channels + c;
      const std::byte* from = place(map, run, order.frame(number)) +
                              (i * channels + order.channel(number)) * bytes_per_element(map.dtype);
      kernels::widen(map.dtype, from, values + c, 1);
    }
  });
  return copy;
}

/// Writes a frame's result back to the frames and channels that it is of.
void put_interleaved(const float* result, const MapView& target, size_t item, int64_t frame) {
  const int64_t channels = target.channels, positions = target.block_rows * target.region.x.length();
  const Interleaved order{target.region.t.length()};
  auto* to = static_cast<float*>(target.blocks[item]);
  for_lines(positions, channels, [&](int64_t i) {
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t number = frame * channels + c;
      to[(order.frame(number) * positions + i) * channels + order.channel(number)] = result[i * channels + c];
    }
  });
}

/// Folds a partial result into a running one; both are means weighted by exp(their log-sum-exp).
void merge(float* total, float* total_log, const float* part, const float* part_log, int64_t queries,
           int64_t channels) {
  for_lines(queries, channels, [&](int64_t i) {
    const float larger = std::max(total_log[i], part_log[i]);
    const float a = std::exp(total_log[i] - larger);
    const float b = std::exp(part_log[i] - larger);
    const float keep = a / (a + b);
    const float take = b / (a + b);
    float* to = total + i * channels;
    const float* from = part + i * channels;
    for (int64_t c = 0; c < channels; ++c) to[c] = to[c] * keep + from[c] * take;
    total_log[i] = larger + std::log(a + b);
  });
}

/// The queries of one frame against all keys and values of that frame of one item.
void attend_frame(const at::Tensor& queries, const MapView& keys, const MapView& values, int64_t item,
                  int64_t frame, AttentionFrames frames, float* total) {
  const bool interleaved = frames == AttentionFrames::interleaved;
  const auto sequence = interleaved ? interleaved_sequence : sequence_of;
  const int64_t count = queries.size(2), columns = keys.region.x.length(), rows = keys.region.y.length();
  const bool as_it_is = keys.dtype == Dtype::fp32 && values.dtype == Dtype::fp32 && !interleaved;
  at::Tensor total_log;
  for (int64_t b = 0; b < keys.blocks_per_item; ++b) {
    const int64_t of_block = std::min(keys.block_rows, rows - b * keys.block_rows) * columns;
    const int64_t at_once = as_it_is ? of_block : kWidenedPositions;
    for (int64_t begin = 0; begin < of_block; begin += at_once) {
      const Run run{static_cast<size_t>(item * keys.blocks_per_item + b),
                    {begin, std::min(of_block, begin + at_once)},
                    frame};
      auto [part, part_log] = at::_scaled_dot_product_flash_attention_for_cpu(queries, sequence(keys, run),
                                                                              sequence(values, run));
      part = part.contiguous();
      if (!total_log.defined()) {
        std::copy_n(part.const_data_ptr<float>(), count * values.channels, total);
        total_log = part_log.contiguous();
      } else {
        merge(total, total_log.data_ptr<float>(), part.const_data_ptr<float>(),
              part_log.contiguous().const_data_ptr<float>(), count, values.channels);
      }
    }
  }
}

}  // namespace

void attend(const MapView& queries, const MapView& keys, const MapView& values, AttentionFrames frames,
            const MapView& target, int64_t items) {
  const int64_t count = queries.block_rows * queries.region.x.length();
  const int64_t item_frames = target.region.t.length();
  for (int64_t item = 0; item < items; ++item) {
    const auto i = static_cast<size_t>(item);
    auto* result = static_cast<float*>(target.blocks[i]);
    for (int64_t f = 0; f < item_frames; ++f) {
      const int64_t frame = target.region.t.begin + f;
      const Run run{i, {0, count}, frame - queries.region.t.begin};
      if (frames == AttentionFrames::each) {
        attend_frame(sequence_of(queries, run), keys, values, item, frame - keys.region.t.begin, frames,
                     result + f * count * target.channels);
        continue;
      }
      const at::Tensor mixed = at::empty({count, target.channels}, at::kFloat);
      attend_frame(interleaved_sequence(queries, run), keys, values, item, f, frames,
                   mixed.data_ptr<float>());
      put_interleaved(mixed.const_data_ptr<float>(), target, i, f);
    }
  }
}

}  // namespace headroom
