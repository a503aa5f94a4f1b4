#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "decoder/gpu/cuda/events.h"
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

/// The CUDA streams of attention. Streams and events must outlive it.
class CudaAttention final : public AttentionStreams {
 public:
  /// Asks the current device how many multiprocessors it has.
  CudaAttention(cudaStream_t compute, cudaStream_t beside, Events& events);

  int64_t processors() const override { return processors_; }
  void weigh(const SoftmaxChunk& call) override { gpu::weigh(call, beside_); }
  void rescale(const RescaleSums& call) override { gpu::rescale(call, beside_); }
  void store(const StoreWeightedMeans& call) override { store_weighted_means(call, compute_); }
  Event record(Stream stream) override { return events_.record(of(stream)); }
  void wait(Stream stream, Event event) override { events_.wait(of(stream), event); }

 private:
  cudaStream_t of(Stream stream) const { return stream == Stream::compute ? compute_ : beside_; }

  const cudaStream_t compute_, beside_;
  Events& events_;
  int64_t processors_ = 0;
};

}  // namespace headroom::gpu
