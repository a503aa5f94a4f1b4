#include "decoder/gpu/cuda/cuda_stamps.h"

#include "decoder/gpu/cuda/status.h"

namespace headroom::gpu {

CudaStamps::~CudaStamps() {
  for (const auto& [stamp, event] : events_) cudaEventDestroy(event);
  for (cudaEvent_t event : unused_) cudaEventDestroy(event);
}

Stamps::Stamp CudaStamps::stamp(Stream stream) {
  cudaEvent_t event = nullptr;
  if (unused_.empty()) {
    check(cudaEventCreate(&event), "cudaEventCreate");
  } else {
    event = unused_.back();
    unused_.pop_back();
  }
  events_[next_] = event;
  check(cudaEventRecord(event, streams_[static_cast<size_t>(stream)]), "cudaEventRecord");
  return Stamp{next_++};
}

bool CudaStamps::passed(Stamp stamp) {
  return has_happened(events_.at(static_cast<int64_t>(stamp)));
}

double CudaStamps::seconds_between(Stamp first, Stamp second) {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, events_.at(static_cast<int64_t>(first)),
                             events_.at(static_cast<int64_t>(second))),
        "cudaEventElapsedTime");
  return double(milliseconds) / 1000;
}

void CudaStamps::forget(Stamp stamp) {
  const auto found = events_.find(static_cast<int64_t>(stamp));
  unused_.push_back(found->second);
  events_.erase(found);
}

}  // namespace headroom::gpu
