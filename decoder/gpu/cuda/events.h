#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <deque>

#include "decoder/gpu/calls/gpu.h"

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

}  // namespace headroom::gpu
