#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "decoder/gpu/cuda/library_calls/matrix_attention.h"

namespace headroom::gpu {

/// Matrix products by cuBLASLt on one stream. Takes the first algorithm of cuBLASLt's heuristics, without
/// benchmarking. Allocates no GPU memory.
class CublasProducts : public MatrixProducts {
 public:
  explicit CublasProducts(cudaStream_t stream);
  ~CublasProducts() override;
  CublasProducts(const CublasProducts&) = delete;
  CublasProducts& operator=(const CublasProducts&) = delete;

  std::optional<Choice> choose(const ProductShape& shape, int64_t workspace_bytes) override;
  void multiply(const MatrixProduct& product, Choice choice, void* workspace,
                int64_t workspace_bytes) override;

 private:
  struct Operands;
  std::optional<Choice> suggested(const ProductShape& shape, int64_t workspace_bytes);

  cublasLtHandle_t handle_ = nullptr;
  cudaStream_t stream_;
  /// By shape and workspace size; empty if cuBLASLt has no algorithm.
  std::map<std::pair<ProductShape, int64_t>, std::optional<Choice>> chosen_;
  std::vector<cublasLtMatmulAlgo_t> algorithms_;
};

}  // namespace headroom::gpu
