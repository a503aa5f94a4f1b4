#pragma once

#include <cstdint>

#include "decoder/gpu/calls/calls.h"
#include "decoder/gpu/calls/stream.h"

// Between the matrix products of attention.
namespace headroom::gpu {

/// One chunk of keys: scores become weights, powers of 2, relative to the largest score so far of each query
/// (online softmax: Milakov and Gimelshein 2018). A row's weights lie in the first half of its scores. They
/// are rounded to `dtype`, and what is summed are the rounded ones. What a row has behind its keys is written
/// too.
struct SoftmaxChunk {
  float* scores = nullptr;  ///< [queries][keys]
  int64_t queries = 0, keys = 0;
  int64_t row = 0;            ///< scores from one query to the next
  float scale = 1;            ///< makes scores multiples of log 2
  Dtype dtype = Dtype::fp16;  ///< of the weights, 16 bits
  bool first = false;         ///< nothing was summed before, nor written to what follows
  float* largest = nullptr;   ///< [queries]
  float* weights = nullptr;   ///< [queries]: their sums
  float* factors = nullptr;   ///< [queries]: for RescaleSums; not written for the first chunk
};
void weigh(const SoftmaxChunk& call, StreamHandle stream);

/// Makes the sums of weighted values that earlier chunks gave relative to the largest score so far.
struct RescaleSums {
  float* sums = nullptr;           ///< [queries][channels]
  const float* factors = nullptr;  ///< [queries]
  int64_t queries = 0;
  int32_t channels = 0;
};
void rescale(const RescaleSums& call, StreamHandle stream);

/// Sums divided by the weights, to positions of a box, which are counted row by row.
struct StoreWeightedMeans {
  const float* sums = nullptr;
  const float* weights = nullptr;
  View target;
  Box box;  ///< one frame
  int64_t first = 0, count = 0;
};
void store_weighted_means(const StoreWeightedMeans& call, StreamHandle stream);

}  // namespace headroom::gpu
