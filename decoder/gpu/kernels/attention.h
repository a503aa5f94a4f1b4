#pragma once

#include <limits>

#include "decoder/gpu/calls/calls.h"
#include "decoder/gpu/kernels/access.h"
#include "decoder/gpu/kernels/language.h"

// Our attention kernels, and the addressing that they share. All of them use online softmax: a running
// maximum, with rescaling (Milakov and Gimelshein 2018; FlashAttention: Dao et al. 2022).
namespace headroom::gpu {

/// Tensor-core kernel. Requires one 16-bit dtype, frames that are not interleaved, and equal channels
/// everywhere: a multiple of 16, at most 512.
bool attends_by_tensor_cores(const Attend& call);
void attend_by_tensor_cores(const Attend& call, StreamHandle stream);

/// Tiled kernel in fp32 arithmetic. Supports all dtypes, up to 512 channels.
bool attends_by_tiles(const Attend& call);
void attend_by_tiles(const Attend& call, StreamHandle stream);

/// Fallback: one thread block per query. Supports every call.
void attend_plainly(const Attend& call, StreamHandle stream);

/// Positions of one frame.
__host__ __device__ inline int64_t positions_of(const View& view) {
  return static_cast<int64_t>(view.region.y.end - view.region.y.begin) *
         (view.region.x.end - view.region.x.begin);
}

/// Number of keys in all frames of `key_frames`.
__host__ __device__ inline int64_t keys_of(const Attend& call) {
  return (call.key_frames.end - call.key_frames.begin) * positions_of(call.keys);
}

/// Positions of one frame in a full block.
__host__ __device__ inline int64_t positions_of_block(const View& view) {
  return static_cast<int64_t>(view.block_rows) * (view.region.x.end - view.region.x.begin);
}

/// Most positions for 32-bit indices, with room for a tile behind the last one.
constexpr int64_t kMostPositions = std::numeric_limits<int32_t>::max() - 1024;

/// Addresses of a view's positions, numbered from one frame on, frame by frame and row by row. Positions of
/// one frame in one block are contiguous. `seek` finds the run that holds a position.
class Positions {
 public:
  __device__ Positions(const View& view, int32_t first_frame)
      : view_(view), frame_(first_frame - view.region.t.begin) {}

  /// Bytes from one position to the next.
  __device__ int32_t bytes() const { return pixel_bytes<Scalars>(view_); }

  __device__ void seek(uint32_t n) {
    if (n - begin_ < found_) return;
    const uint32_t whole = of_block(), all = of_frame(), in_frame = n % all;
    const uint32_t before = in_frame / whole * whole;  // positions of the frame in earlier blocks
    found_ = all - before < whole ? all - before : whole;
    begin_ = n - in_frame + before;
    first_ = at(begin_);
  }
  /// True if the run found by `seek` holds positions [first, first + count).
  __device__ bool holds(uint32_t first, uint32_t count) const { return first - begin_ + count <= found_; }
  __device__ const std::byte* at_sought(uint32_t n) const {
    return first_ + static_cast<int64_t>(n - begin_) * bytes();
  }

  /// Address of a position in any block and frame, without `seek`.
  __device__ const std::byte* at(uint32_t n) const {
    const uint32_t frame = n / of_frame(), in_frame = n - frame * of_frame(), block = in_frame / of_block();
    return view_.base + view_.block_units[block] * kBlockUnit +
           ((frame_ + static_cast<int64_t>(frame)) * positions_of_block(view_) + in_frame -
            block * of_block()) *
               bytes();
  }

 private:
  __device__ uint32_t of_block() const {
    const int64_t count = positions_of_block(view_);
    return static_cast<uint32_t>(count < kMostPositions ? count : kMostPositions);
  }
  __device__ uint32_t of_frame() const { return static_cast<uint32_t>(positions_of(view_)); }

  const View& view_;
  int32_t frame_;                   ///< the first
  uint32_t begin_ = 0, found_ = 0;  ///< the run that `seek` found: first position, length
  const std::byte* first_ = nullptr;
};

/// Address of a channel of position `n` in a frame. With T interleaved frames, the value at index i = frame *
/// C + channel is stored in frame i % T, channel i / T.
__device__ inline std::byte* value_at(const View& view, bool interleaved, int32_t frame, int64_t n,
                                      int32_t channel) {
  int64_t of_frame = frame - view.region.t.begin, of_channel = channel;
  if (interleaved) {
    const int64_t number = of_frame * view.channels + channel,
                  count = view.region.t.end - view.region.t.begin;
    of_frame = number % count;
    of_channel = number / count;
  }
  const int64_t of_block = positions_of_block(view), block = n / of_block;
  return view.base + view.block_units[block] * kBlockUnit +
         ((of_frame * of_block + n - block * of_block) * view.channels + of_channel) *
             Scalars::bytes(view.dtype);
}

/// Address of a channel of key or value `n`. Positions are numbered through all frames of `key_frames`.
__device__ inline std::byte* key_value_at(const View& view, const Attend& call, int64_t n, int32_t channel) {
  const int64_t of_frame = positions_of(view), frame = n / of_frame;
  return value_at(view, call.interleaved, static_cast<int32_t>(call.key_frames.begin + frame),
                  n - frame * of_frame, channel);
}

__device__ inline void store_value(Dtype dtype, std::byte* to, float value) {
  const float values[1] = {value};
  Scalars::store(dtype, to, values);
}

}  // namespace headroom::gpu
