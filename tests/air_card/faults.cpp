#include <cuda_runtime_api.h>

#include <chrono>
#include <map>
#include <set>

#include "tests/air_card/card.h"
#include "tests/air_card/report.h"

namespace headroom::air {
namespace {

struct Failure {
  std::string call;
  int64_t number = 0;
  int status = 0;  ///< 0: the call's default status
};

/// Parses "call:number" or "call:number:status".
Failure failure_setting() {
  const std::string text = setting("AIR_FAIL");
  const size_t first = text.find(':');
  if (first == text.npos) return {text, text.empty() ? 0 : 1, 0};
  const size_t second = text.find(':', first + 1);
  return {text.substr(0, first), std::stoll(text.substr(first + 1, second - first - 1)),
          second == text.npos ? 0 : std::stoi(text.substr(second + 1))};
}

struct Faults {
  const Failure failure = failure_setting();
  std::map<std::string, int64_t> calls;
  int device_status = 0;    ///< status of a failed device, else 0
  bool error_seen = false;  ///< a call has returned an error to the program
  int last_error = 0;       ///< returned by cudaGetLastError
};
Faults& faults() {
  static auto* all = new Faults;  // never freed: calls may come during exit
  return *all;
}

/// Errors after which every CUDA call returns the same error.
bool is_sticky(int status) {
  return status == cudaErrorIllegalAddress || (status >= cudaErrorAssert && status <= cudaErrorLaunchFailure);
}

/// Errors from which a program may recover.
bool is_harmless(int status) {
  return status == cudaErrorMemoryAllocation || status == cudaErrorNotReady ||
         status == cudaErrorNotSupported;
}

bool of_runtime(const std::string& name) {
  return name.compare(0, 4, "cuda") == 0 || name.compare(0, 6, "__cuda") == 0;
}

/// Queries. They succeed on a failed device and are allowed after an error.
bool only_asks(const std::string& name) {
  static const std::set<std::string> all{"cudaGetDevice",
                                         "cudaSetDevice",
                                         "cudaGetDeviceCount",
                                         "cudaDriverGetVersion",
                                         "cudaRuntimeGetVersion",
                                         "cudaDeviceGetAttribute",
                                         "cudaGetDeviceProperties",
                                         "cudaDeviceGetStreamPriorityRange",
                                         "cudaStreamIsCapturing",
                                         "cudaStreamGetCaptureInfo",
                                         "cudaThreadExchangeStreamCaptureMode",
                                         "cudaMemGetInfo",
                                         "cudnnGetStream"};
  return all.count(name) > 0;
}

/// Calls that a program may make after an error: they release something or wait for earlier work.
bool releases_or_waits(const std::string& name) {
  for (const char* part : {"Free", "Destroy", "Unregister", "Synchronize", "Event"}) {
    if (name.find(part) != name.npos) return true;
  }
  return false;
}

using HostClock = std::chrono::steady_clock;

/// Nesting depth: libraries call each other inside a call of the program.
int open_calls = 0;
HostClock::time_point call_begun;

void note_begin() {
  if (open_calls++ == 0) call_begun = HostClock::now();
}
/// Longer calls are not counted as host time. They fill memory, or another process interrupted them.
constexpr std::chrono::milliseconds kLongestCall{1};

void note_end() {
  if (--open_calls > 0) return;
  const std::chrono::nanoseconds own = HostClock::now() - call_begun;
  if (own < kLongestCall) count("own_nanoseconds", own.count());
}

}  // namespace

int begin_call(const char* name, int failure) {
  note_begin();
  Faults& all = faults();
  const int64_t number = ++all.calls[name];
  if (all.error_seen && !releases_or_waits(name) && !only_asks(name)) note_call_after_error(name);
  const Failure& wanted = all.failure;
  if (wanted.call == name && (wanted.number == 0 || wanted.number == number)) {
    const int status = wanted.status != 0 ? wanted.status : failure;
    count("faults");
    if (of_runtime(name) && is_sticky(status)) all.device_status = status;
    return status;
  }
  if (all.device_status == 0 || only_asks(name)) return 0;
  return of_runtime(name) ? all.device_status : failure;
}

void end_call(const char* name, int status) {
  note_end();
  if (status == 0) return;
  Faults& all = faults();
  if (of_runtime(name)) all.last_error = status;
  if (releases_or_waits(name) && std::string(name).find("Event") == std::string::npos) return;
  if (!of_runtime(name) || !is_harmless(status)) all.error_seen = true;
}

void fail_device(int status, const std::string& why) {
  wrong_use(why);
  faults().device_status = status;
}

int64_t mutated(const char* what, size_t index, int64_t value) {
  // Example: "strides:2:8" adds 8 to the third stride.
  static const std::string mutation = setting("AIR_MUTATE");
  if (mutation.empty()) return value;
  const std::string begin = std::string(what) + ":" + std::to_string(index) + ":";
  if (mutation.compare(0, begin.size(), begin) != 0) return value;
  count("mutations");
  return value + std::stoll(mutation.substr(begin.size()));
}

const std::map<std::string, int64_t>& calls_by_name() {
  return faults().calls;
}

AIR_API cudaError_t cudaGetLastError() {
  const std::lock_guard lock(mutex());
  Faults& all = faults();
  const int last = all.last_error;
  all.last_error = all.device_status;
  return static_cast<cudaError_t>(last);
}

AIR_API cudaError_t cudaPeekAtLastError() {
  const std::lock_guard lock(mutex());
  return static_cast<cudaError_t>(faults().last_error);
}

AIR_API const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration:
      return "cudaErrorInvalidConfiguration";
    case cudaErrorLaunchFailure:
      return "cudaErrorLaunchFailure";
    case cudaErrorIllegalAddress:
      return "cudaErrorIllegalAddress";
    case cudaErrorNotReady:
      return "cudaErrorNotReady";
    case cudaErrorNotSupported:
      return "cudaErrorNotSupported";
    default:
      return "cudaErrorUnknown";
  }
}

AIR_API const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidConfiguration:
      return "invalid configuration argument";
    case cudaErrorLaunchFailure:
      return "unspecified launch failure";
    case cudaErrorIllegalAddress:
      return "an illegal memory access was encountered";
    case cudaErrorNotSupported:
      return "operation not supported";
    default:
      return "unknown error";
  }
}

}  // namespace headroom::air
