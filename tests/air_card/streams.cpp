#include "tests/air_card/streams.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <deque>
#include <exception>
#include <map>
#include <random>

#include "tests/air_card/card.h"
#include "tests/air_card/report.h"

// Streams are work queues. AIR_ORDER=now runs work at once. `late` defers work until an event, a wait or a
// synchronization needs it. `drawn` also runs some work early, at random by AIR_SEED.
namespace headroom::air {
namespace {

enum class Order { now, late, drawn };

struct Queue {
  std::deque<std::function<void()>> work{};
  int64_t number = 0;
  Clock clock{};
  int device = 0;
  bool capturing = false;  ///< nothing is recorded: only queries tell
};

struct Streams {
  std::map<const void*, Queue> queues;
  int64_t made = 0;
  Clock host;
  const int64_t eager = number_setting("AIR_EAGER", -1);
  std::minstd_rand random{static_cast<uint32_t>(number_setting("AIR_SEED", 1))};
};
Streams& streams() {
  static auto* all = new Streams;  // never freed: calls may come during exit
  return *all;
}

Order order() {
  static const Order one = [] {
    const std::string text = setting("AIR_ORDER", "now");
    if (text != "now" && text != "late" && text != "drawn") wrong_use("AIR_ORDER=" + text + " is not known");
    return text == "late" ? Order::late : text == "drawn" ? Order::drawn : Order::now;
  }();
  return one;
}

/// Null and the two special stream handles mean the default stream.
const void* handle(const void* stream) {
  return stream == cudaStreamLegacy || stream == cudaStreamPerThread ? nullptr : stream;
}

Queue& queue(const void* stream) {
  return streams().queues[handle(stream)];
}

void run(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {  // thrown by an emulated kernel
    fail_device(cudaErrorLaunchFailure, error.what());
  }
}

cudaError_t create(cudaStream_t* to) {
  *to = reinterpret_cast<cudaStream_t>(new int64_t);
  Queue& made = streams().queues[*to];
  made.number = ++streams().made;
  made.device = current_device();
  change("streams", 1);
  return cudaSuccess;
}

/// Runs a call on a stream, and rejects unknown streams.
template <typename Body>
cudaError_t call_on(const char* name, const void* stream, const Body& body) {
  return call(name, cudaErrorLaunchFailure, [&] {
    if (stream_number(stream) < 0) {
      wrong_use(std::string(name) + ": the stream does not exist");
      return cudaErrorInvalidResourceHandle;
    }
    return body();
  });
}

}  // namespace

void join(Clock& clock, const Clock& other) {
  for (const auto& [stream, work] : other) clock[stream] = std::max(clock[stream], work);
}
Clock& host_clock() {
  return streams().host;
}
Clock& clock_of(const void* stream) {
  return queue(stream).clock;
}

bool run_next(const void* stream) {
  std::deque<std::function<void()>>& work = queue(stream).work;
  if (work.empty()) return false;
  const std::function<void()> next = std::move(work.front());
  work.pop_front();
  run(next);
  return true;
}

bool drawn_done() {
  return streams().random() % 4 == 0;
}

int64_t stream_number(const void* stream) {
  if (handle(stream) == nullptr) return 0;
  const auto found = streams().queues.find(stream);
  return found == streams().queues.end() ? -1 : found->second.number;
}

int device_of(const void* stream) {
  return handle(stream) == nullptr ? current_device() : queue(stream).device;
}

bool work_runs_now() {
  return order() == Order::now;
}

void enqueue(const void* stream, std::function<void()> work) {
  const std::lock_guard lock(mutex());
  Queue& to = queue(stream);
  join(to.clock, host_clock());
  ++to.clock[to.number];
  if (order() == Order::now) return run(work);
  to.work.push_back(std::move(work));
  count("delayed");
  if (to.number == streams().eager) {
    while (run_next(stream)) {
    }
  }
  if (order() != Order::drawn) return;
  for (auto& [one, waiting] : streams().queues) {
    for (auto n = streams().random() % 3; n > 0; --n) run_next(one);
  }
}

void drain(const void* stream) {
  count("forced");
  join(host_clock(), clock_of(stream));
  while (run_next(stream)) {
  }
}

void drain_all() {
  for (auto& [stream, waiting] : streams().queues) drain(stream);
}

AIR_API cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return call(__func__, cudaErrorLaunchFailure, [&] { return create(stream); });
}
AIR_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  return call(__func__, cudaErrorLaunchFailure, [&] { return create(stream); });
}
AIR_API cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  return call(__func__, cudaErrorLaunchFailure, [&] { return create(stream); });
}

AIR_API cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return call_on(__func__, stream, [&] {
    drain(stream);
    streams().queues.erase(stream);
    delete reinterpret_cast<int64_t*>(stream);
    change("streams", -1);
    return cudaSuccess;
  });
}

AIR_API cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return call_on(__func__, stream, [&] {
    if (!queue(stream).work.empty() && !drawn_done()) return cudaErrorNotReady;
    drain(stream);
    return cudaSuccess;
  });
}
AIR_API cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return call_on(__func__, stream, [&] {
    drain(stream);
    return cudaSuccess;
  });
}
AIR_API cudaError_t cudaDeviceSynchronize() {
  return call(__func__, cudaErrorLaunchFailure, [&] {
    const int device = current_device();
    for (auto& [stream, waiting] : streams().queues) {
      if (stream == nullptr || waiting.device == device) drain(stream);
    }
    return cudaSuccess;
  });
}

AIR_API cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return call_on(__func__, stream, [&] {
    enqueue(stream, [=] { function(data); });
    return cudaSuccess;
  });
}
AIR_API cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void* data,
                                          unsigned) {
  return call_on(__func__, stream, [&] {
    enqueue(stream, [=] { function(stream, cudaSuccess, data); });
    return cudaSuccess;
  });
}

AIR_API cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return call_on(__func__, stream, [&] {
    *priority = 0;
    return cudaSuccess;
  });
}
AIR_API cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  return call_on(__func__, stream, [&] {
    queue(stream).capturing = true;
    return cudaSuccess;
  });
}
AIR_API cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return call_on(__func__, stream, [&] {
    queue(stream).capturing = false;
    *graph = nullptr;
    return cudaSuccess;
  });
}
AIR_API cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return call_on(__func__, stream, [&] {
    *status = queue(stream).capturing ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return cudaSuccess;
  });
}
AIR_API cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                             unsigned long long*, cudaGraph_t*, const cudaGraphNode_t**,
                                             const cudaGraphEdgeData**, size_t*) {
  return call_on(__func__, stream, [&] {
    *status = cudaStreamCaptureStatusNone;
    return cudaSuccess;
  });
}
AIR_API cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*) {
  return call(__func__, cudaErrorLaunchFailure, [] { return cudaSuccess; });
}

}  // namespace headroom::air
