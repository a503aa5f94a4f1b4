#pragma once

#include <cstdint>

#include "decoder/gpu/calls/calls.h"
#include "decoder/gpu/calls/stream.h"

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

/// A library's matrix products.
class MatrixProducts {
 public:
  virtual ~MatrixProducts() = default;
  /// Chooses how to multiply; starts nothing. False where the library cannot.
  virtual bool prepare(const MatrixProduct& product, int64_t workspace_bytes) = 0;
  virtual void multiply(const MatrixProduct& product, void* workspace, int64_t workspace_bytes) = 0;
};

/// Attention as matrix products, in chunks as its workspace allows (decoder/gpu/calls/workspace.h); the
/// weights between the two products are rounded to the dtype of the tiles. False, and nothing started, where
/// the workspace is too small, in fp32, where frames are interleaved, where dtypes differ and where the
/// library cannot compute one of the products.
bool attend_by_matrices(const Attend& call, MatrixProducts& products, StreamHandle stream);

}  // namespace headroom::gpu
