#pragma once

#include <cublasLt.h>

#include <compare>
#include <cstdint>
#include <map>
#include <optional>

#include "decoder/gpu/cuda/library_calls/matrix_attention.h"

namespace headroom::gpu {

/// Matrix products by cuBLASLt on one stream, in the order of its heuristics: nothing is measured, nothing
/// allocated.
class CublasProducts : public MatrixProducts {
 public:
  explicit CublasProducts(cudaStream_t stream);
  ~CublasProducts() override;
  CublasProducts(const CublasProducts&) = delete;
  CublasProducts& operator=(const CublasProducts&) = delete;

  bool prepare(const MatrixProduct& product, int64_t workspace_bytes) override;
  void multiply(const MatrixProduct& product, void* workspace, int64_t workspace_bytes) override;

 private:
  /// What an algorithm is chosen by.
  struct Shape {
    Dtype dtype{};
    int64_t rows = 0, columns = 0, depth = 0, a_row = 0, b_row = 0, to_row = 0;
    bool transposed = false, add = false;
    uint32_t a_alignment = 0, b_alignment = 0, to_alignment = 0;
    int64_t workspace_bytes = 0;
    auto operator<=>(const Shape&) const = default;
  };
  struct Operands;
  using Algorithm = std::optional<cublasLtMatmulAlgo_t>;
  const Algorithm& choose(const MatrixProduct& product, int64_t workspace_bytes);
  Algorithm suggested(const Shape& shape, Operands& operands) const;

  cublasLtHandle_t handle_ = nullptr;
  cudaStream_t stream_;
  std::map<Shape, Algorithm> chosen_;  ///< none where cuBLASLt has none
};

}  // namespace headroom::gpu
