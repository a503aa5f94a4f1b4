#include "decoder/gpu/cuda/events.h"

#include "decoder/gpu/cuda/status.h"

namespace headroom::gpu {
namespace {

/// Events are created up to this number before finished ones are reused.
constexpr size_t kEvents = 64;

}  // namespace

Events::~Events() {
  for (cudaEvent_t event : events_) cudaEventDestroy(event);
}

cudaEvent_t Events::unused() {
  if (events_.size() >= kEvents && has_happened(events_.front())) {
    cudaEvent_t event = events_.front();
    events_.pop_front();
    ++first_;
    return event;
  }
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  return event;
}

Event Events::record(cudaStream_t stream) {
  events_.push_back(unused());
  check(cudaEventRecord(events_.back(), stream), "cudaEventRecord");
  return Event{first_ + static_cast<int64_t>(events_.size()) - 1};
}

cudaEvent_t Events::find(Event event) const {
  const int64_t index = static_cast<int64_t>(event) - first_;
  return index < 0 ? nullptr : events_.at(static_cast<size_t>(index));
}

void Events::wait(cudaStream_t stream, Event event) const {
  if (cudaEvent_t found = find(event)) check(cudaStreamWaitEvent(stream, found, 0), "cudaStreamWaitEvent");
}

void Events::wait_on_host(Event event) const {
  if (cudaEvent_t found = find(event)) check(cudaEventSynchronize(found), "cudaEventSynchronize");
}

bool Events::happened(Event event) const {
  cudaEvent_t found = find(event);
  return found == nullptr || has_happened(found);
}

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
