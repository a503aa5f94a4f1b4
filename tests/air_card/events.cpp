#include <cuda_runtime_api.h>

#include <chrono>
#include <map>
#include <memory>

#include "tests/air_card/card.h"
#include "tests/air_card/report.h"
#include "tests/air_card/streams.h"

namespace headroom::air {
namespace {

struct Recorded {
  int64_t records = 0;  ///< number of times that the event was recorded
  int64_t passed = 0;   ///< the last record that its stream has reached
  const void* stream = nullptr;
  Clock clock{};  ///< at the last record
  int device = 0;
  std::chrono::steady_clock::time_point time{};
};

struct Events {
  std::map<cudaEvent_t, std::shared_ptr<Recorded>> all;
  int64_t waits = 0;
  const int64_t skipped_wait = number_setting("AIR_SKIP_WAIT", 0);
};
Events& events() {
  static auto* one = new Events;  // never freed: calls may come during exit
  return *one;
}

cudaError_t create(cudaEvent_t* to) {
  *to = reinterpret_cast<cudaEvent_t>(new int64_t);
  events().all[*to] = std::make_shared<Recorded>();
  events().all[*to]->device = current_device();
  change("events", 1);
  return cudaSuccess;
}

/// Runs a call on an event, and rejects unknown events.
template <typename Body>
cudaError_t call_with(const char* name, cudaEvent_t event, const Body& body) {
  return call(name, cudaErrorLaunchFailure, [&] {
    const auto found = events().all.find(event);
    if (found == events().all.end()) {
      wrong_use(std::string(name) + ": the event does not exist");
      return cudaErrorInvalidResourceHandle;
    }
    return body(found->second);
  });
}

void run_until(const Recorded& event, int64_t record) {
  while (event.passed < record) {
    if (run_next(event.stream)) continue;
    fail_device(cudaErrorLaunchFailure, "a stream waits for an event that does not come");
    return;
  }
}

cudaError_t record(const std::shared_ptr<Recorded>& event, cudaStream_t stream) {
  if (stream_number(stream) < 0) {
    wrong_use("cudaEventRecord: the stream does not exist");
    return cudaErrorInvalidResourceHandle;
  }
  if (device_of(stream) != event->device) {
    wrong_use("cudaEventRecord: an event of device " + std::to_string(event->device) +
              " in a stream of device " + std::to_string(device_of(stream)));
    return cudaErrorInvalidResourceHandle;
  }
  event->stream = stream;
  const int64_t number = ++event->records;
  enqueue(stream, [event, number] {
    event->passed = number;
    event->time = std::chrono::steady_clock::now();
  });
  event->clock = clock_of(stream);
  return cudaSuccess;
}

/// True if earlier waits by the stream or the host already order its next work after the event.
bool is_covered(const Recorded& event, const void* stream) {
  Clock known = clock_of(stream);
  join(known, host_clock());
  const int64_t on = stream_number(event.stream);
  const auto work = event.clock.find(on);
  return work == event.clock.end() || known[on] >= work->second;
}

/// Blocks the host until the event has happened.
void synchronize(const Recorded& event) {
  run_until(event, event.records);
  join(host_clock(), event.clock);
}

}  // namespace

AIR_API cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return call(__func__, cudaErrorLaunchFailure, [&] { return create(event); });
}
AIR_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return call(__func__, cudaErrorLaunchFailure, [&] { return create(event); });
}

AIR_API cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return call_with(__func__, event, [&](const auto&) {
    events().all.erase(event);  // queued work shares the event's state
    delete reinterpret_cast<int64_t*>(event);
    change("events", -1);
    return cudaSuccess;
  });
}

AIR_API cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return call_with(__func__, event, [&](const auto& found) { return record(found, stream); });
}
AIR_API cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
  return call_with(__func__, event, [&](const auto& found) { return record(found, stream); });
}

AIR_API cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return call_with(__func__, event, [&](const auto& found) {
    if (stream_number(stream) < 0) {
      wrong_use("cudaStreamWaitEvent: the stream does not exist");
      return cudaErrorInvalidResourceHandle;
    }
    note_wait(stream_number(stream), stream_number(found->stream), is_covered(*found, stream));
    if (++events().waits == events().skipped_wait) return cudaSuccess;
    join(clock_of(stream), found->clock);
    enqueue(stream, [awaited = found, number = found->records] { run_until(*awaited, number); });
    return cudaSuccess;
  });
}

AIR_API cudaError_t cudaEventQuery(cudaEvent_t event) {
  return call_with(__func__, event, [&](const auto& found) {
    if (found->passed < found->records && !drawn_done()) return cudaErrorNotReady;
    synchronize(*found);
    return cudaSuccess;
  });
}
AIR_API cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return call_with(__func__, event, [&](const auto& found) {
    count("forced");
    synchronize(*found);
    return cudaSuccess;
  });
}

AIR_API cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t first, cudaEvent_t second) {
  return call_with(__func__, first, [&](const auto& begin) {
    const auto end = events().all.find(second);
    if (end == events().all.end() || end->second->device != begin->device)
      return cudaErrorInvalidResourceHandle;
    if (begin->passed < begin->records || end->second->passed < end->second->records)
      return cudaErrorNotReady;
    *milliseconds = std::chrono::duration<float, std::milli>(end->second->time - begin->time).count();
    return cudaSuccess;
  });
}

}  // namespace headroom::air
