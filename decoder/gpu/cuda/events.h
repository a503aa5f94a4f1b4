#pragma once

#include <cuda_runtime_api.h>
#include <array>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "decoder/gpu/calls/gpu.h"
#include "decoder/gpu/calls/scope_timer.h"

namespace headroom::gpu {

/// A pool of CUDA events, numbered in the order of recording. Finished events are reused, so a number that
/// the pool no longer holds has happened.
class Events {
 public:
  Events() = default;
  ~Events();
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  Event record(cudaStream_t stream);
  void wait(cudaStream_t stream, Event event) const;
  void wait_on_host(Event event) const;
  bool happened(Event event) const;

 private:
  cudaEvent_t unused();
  cudaEvent_t find(Event event) const;

  std::deque<cudaEvent_t> events_;  ///< in the order of their numbers
  int64_t first_ = 0;               ///< the number of the first one
};

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
