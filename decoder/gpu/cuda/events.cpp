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

}  // namespace headroom::gpu
