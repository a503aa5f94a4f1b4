#pragma once

#include <compare>
#include <cstdint>
#include <optional>

#include "decoder/gpu/calls/calls.h"
#include "decoder/gpu/calls/gpu.h"
#include "decoder/gpu/calls/softmax.h"

namespace headroom::gpu {

/// to = a b, or to += a b, or with b transposed: rows of values of 16 bits, sums in fp32.
struct MatrixProduct {
  Dtype dtype = Dtype::fp16;  ///< of a and b
  int64_t rows = 0, columns = 0, depth = 0;
  const void* a = nullptr;                   ///< [rows][depth]
  const void* b = nullptr;                   ///< [depth][columns]; [columns][depth] where transposed
  float* to = nullptr;                       ///< [rows][columns]
  int64_t a_row = 0, b_row = 0, to_row = 0;  ///< values from one row to the next
  bool transposed = false;
  bool add = false;
};

/// All that decides how a product can be computed. Alignments are in bytes, 256 at the most.
struct ProductShape {
  Dtype dtype{};
  int64_t rows = 0, columns = 0, depth = 0, a_row = 0, b_row = 0, to_row = 0;
  bool transposed = false, add = false;
  uint32_t a_alignment = 0, b_alignment = 0, to_alignment = 0;
  auto operator<=>(const ProductShape&) const = default;
};
ProductShape shape_of(const MatrixProduct& product);

/// A library's matrix products, started on the compute stream.
class MatrixProducts {
 public:
  /// How products of one shape are computed.
  using Choice = size_t;

  virtual ~MatrixProducts() = default;
  /// Starts nothing. None where the library cannot.
  virtual std::optional<Choice> choose(const ProductShape& shape, int64_t workspace_bytes) = 0;
  /// `choice` was made for its shape.
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

/// Attention as matrix products, in chunks as its workspace allows (decoder/gpu/calls/workspace.h); the
/// weights between the two products are rounded to the dtype of the tiles. Scores become weights beside the
/// products; seen from the compute stream all is one call. Of several frames of keys each is cut alike.
/// False, and nothing started, where the workspace is too small, in fp32, where frames are interleaved, where
/// dtypes differ and where the library cannot compute one of the products.
bool attend_by_matrices(const Attend& call, MatrixProducts& products, AttentionStreams& streams);

}  // namespace headroom::gpu
