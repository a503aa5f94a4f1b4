#pragma once

#include <cuda_runtime_api.h>

#include "decoder/gpu/cuda/events.h"
#include "decoder/gpu/cuda/library_calls/matrix_attention.h"

namespace headroom::gpu {

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
