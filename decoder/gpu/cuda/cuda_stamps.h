#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <unordered_map>
#include <vector>

#include "decoder/gpu/calls/scope_timer.h"

namespace headroom::gpu {

/// Timestamps by CUDA events with timing enabled.
class CudaStamps final : public Stamps {
 public:
  explicit CudaStamps(const std::array<cudaStream_t, kStreams>& streams) : streams_(streams) {}
  ~CudaStamps() override;
  CudaStamps(const CudaStamps&) = delete;
  CudaStamps& operator=(const CudaStamps&) = delete;

  Stamp stamp(Stream stream) override;
  bool passed(Stamp stamp) override;
  double seconds_between(Stamp first, Stamp second) override;
  void forget(Stamp stamp) override;

 private:
  const std::array<cudaStream_t, kStreams> streams_;
  std::unordered_map<int64_t, cudaEvent_t> events_;
  std::vector<cudaEvent_t> unused_;
  int64_t next_ = 0;
};

}  // namespace headroom::gpu
