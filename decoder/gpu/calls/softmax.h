#pragma once

#include <cstdint>

#include "decoder/gpu/calls/calls.h"
#include "decoder/gpu/calls/stream.h"

// Softmax kernels that run between the matrix products of attention.
namespace headroom::gpu {

/// Turns the scores of one chunk of keys into weights 2^(score - largest), where `largest` is the query's
/// largest score so far (online softmax: Milakov and Gimelshein 2018). The weights overwrite their row of
/// scores from its beginning. They are rounded to `dtype` before they are summed. The padding behind a row's
/// keys is written too.
struct SoftmaxChunk {
  float* scores = nullptr;  ///< [queries][keys]
  int64_t queries = 0, keys = 0;
  int64_t row = 0;            ///< row stride of `scores`, in floats
  float scale = 1;            ///< converts scores to base 2: includes kLog2OfE
  Dtype dtype = Dtype::fp16;  ///< of the weights
  bool first = false;         ///< first chunk: the lists below are not initialised
  float* largest = nullptr;   ///< [queries]
  float* weights = nullptr;   ///< [queries]: sums of the weights
  float* factors = nullptr;   ///< [queries]: for RescaleSums; not written for the first chunk
};
void weigh(const SoftmaxChunk& call, StreamHandle stream);

/// Rescales the weighted sums of earlier chunks to the new largest scores.
struct RescaleSums {
  float* sums = nullptr;           ///< [queries][channels]
  const float* factors = nullptr;  ///< [queries]
  int64_t queries = 0;
  int32_t channels = 0;
};
void rescale(const RescaleSums& call, StreamHandle stream);

/// Stores sums / weights at positions [first, first + count) of a box, numbered row by row.
struct StoreWeightedMeans {
  const float* sums = nullptr;
  const float* weights = nullptr;
  View target;
  Box box;  ///< one frame
  int64_t first = 0, count = 0;
};
void store_weighted_means(const StoreWeightedMeans& call, StreamHandle stream);

}  // namespace headroom::gpu
