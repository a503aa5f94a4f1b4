#pragma once

#include <compare>
#include <cstdint>
#include <optional>

#include "decoder/gpu/calls/calls.h"
#include "decoder/gpu/calls/gpu.h"
#include "decoder/gpu/calls/softmax.h"

namespace headroom::gpu {

/// to = a b, or to += a b, optionally with b transposed. Operands are row-major; sums are fp32.
struct MatrixProduct {
  Dtype dtype = Dtype::fp16;  ///< of a and b
  int64_t rows = 0, columns = 0, depth = 0;
  const void* a = nullptr;                   ///< [rows][depth]
  const void* b = nullptr;                   ///< [depth][columns]; [columns][depth] if transposed
  float* to = nullptr;                       ///< [rows][columns]
  int64_t a_row = 0, b_row = 0, to_row = 0;  ///< row strides, in values
  bool transposed = false;
  bool add = false;
  bool tf32 = false;  ///< fp32 operands may be rounded to TF32
};

/// Properties that determine the choice of an algorithm. Alignments are in bytes, at most 256.
struct ProductShape {
  Dtype dtype{};
  int64_t rows = 0, columns = 0, depth = 0, a_row = 0, b_row = 0, to_row = 0;
  bool transposed = false, add = false, tf32 = false;
  uint32_t a_alignment = 0, b_alignment = 0, to_alignment = 0;
  auto operator<=>(const ProductShape&) const = default;
};
ProductShape shape_of(const MatrixProduct& product);

/// A library's matrix products, started on the compute stream.
class MatrixProducts {
 public:
  /// Handle of an algorithm for products of one shape.
  using Choice = size_t;

  virtual ~MatrixProducts() = default;
  /// Starts no work. Empty if the library cannot compute the product.
  virtual std::optional<Choice> choose(const ProductShape& shape, int64_t workspace_bytes) = 0;
  /// `choice` must come from choose() for this shape.
  virtual void multiply(const MatrixProduct& product, Choice choice, void* workspace,
                        int64_t workspace_bytes) = 0;
};

/// The streams that attention runs on, compute and beside_compute, and its kernels.
class AttentionStreams {
 public:
  virtual ~AttentionStreams() = default;
  /// Multiprocessors of the card.
  virtual int64_t processors() const = 0;
  virtual void weigh(const SoftmaxChunk& call) = 0;        ///< on beside_compute
  virtual void rescale(const RescaleSums& call) = 0;       ///< on beside_compute
  virtual void store(const StoreWeightedMeans& call) = 0;  ///< on compute
  virtual Event record(Stream stream) = 0;                 ///< as Gpu has it
  virtual void wait(Stream stream, Event event) = 0;       ///< as Gpu has it
};

/// Attention as matrix products, in chunks that fit the workspace (decoder/gpu/calls/workspace.h). Weights
/// are rounded to the tiles' dtype between the two products. The softmax runs on beside_compute, concurrently
/// with the products. Later work on the compute stream waits for all of it. Returns false and starts nothing
/// if the workspace is too small, frames are interleaved, dtypes differ, or the library
/// cannot compute one of the products.
bool attend_by_matrices(const Attend& call, MatrixProducts& products, AttentionStreams& streams);

}  // namespace headroom::gpu
