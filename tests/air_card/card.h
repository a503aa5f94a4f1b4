#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

// State that the libraries of the air card share. libcudart.so.13 exports it (tests/air_card/README.md).
namespace headroom::air {

#define AIR_API extern "C" __attribute__((visibility("default")))

/// Locked during each library call.
std::recursive_mutex& mutex();

/// Value of the environment variable, or `otherwise` if it is unset.
std::string setting(const char* name, const char* otherwise = "");
int64_t number_setting(const char* name, int64_t otherwise);

// faults.cpp

/// Counts a call by name. Returns a nonzero status if AIR_FAIL selects this call or the device has failed
/// before. `failure` is the default status for a call that AIR_FAIL selects.
int begin_call(const char* name, int failure);
/// Records the status that the call returns to the program.
void end_call(const char* name, int status);
/// Marks the device as failed. Later calls return `status`, as CUDA does after a kernel fault.
void fail_device(int status, const std::string& why);
/// Returns `value`, plus AIR_MUTATE's number if AIR_MUTATE selects `what` and `index`.
int64_t mutated(const char* what, size_t index, int64_t value);

/// Runs `body` as a library call. If the call has to fail, `body` runs only if the call releases something.
template <typename Status, typename Body>
Status call(const char* name, Status failure, const Body& body) {
  const std::lock_guard lock(mutex());
  const int forced = begin_call(name, static_cast<int>(failure));
  const std::string text = name;
  const bool releases = text.find("Free") != text.npos || text.find("Destroy") != text.npos;
  Status status = forced == 0 || releases ? body() : Status{};
  if (forced != 0) status = static_cast<Status>(forced);
  end_call(name, static_cast<int>(status));
  return status;
}

// report.cpp

/// Adds to a counter of the report, such as "launches".
void count(const char* counter, int64_t by = 1);
/// Adds a line to the report's list of wrong uses.
void wrong_use(const std::string& text);

// memory.cpp

enum class Memory { pageable, device, pinned };
Memory memory_of(const void* begin);
/// Returns false and records a wrong use if the range is invalid. A range that begins in device, pinned or
/// freed memory must lie in one live allocation.
bool check_range(const char* user, const void* begin, int64_t bytes);
/// Like check_range(), but also requires memory of the current device.
bool check_device_range(const char* user, const void* begin, int64_t bytes);

// launches.cpp

struct Launch {
  const char* kernel;
  uint32_t blocks[3], threads[3];
  size_t shared_bytes;
  const void* stream;
};
/// Counts a launch that bypasses CUDA's launch functions, and checks it against the card's limits. Returns
/// the reason for a failure, or an empty string.
std::string note_launch(const Launch& launch);
/// Enables real computation in cuDNN and cuBLASLt, because kernels run too.
void kernels_run();
bool kernels_are_run();

// streams.cpp

/// Device of a stream. The default stream is that of the current device.
int device_of(const void* stream);
/// Appends work to a stream. AIR_ORDER decides when the work runs.
void enqueue(const void* stream, std::function<void()> work);
/// True if AIR_ORDER is `now`, so that work runs as soon as it is enqueued.
bool work_runs_now();
/// Runs all work of a stream, or of all streams.
void drain(const void* stream);
void drain_all();

// device.cpp

struct Capability {
  int major, minor;
  size_t shared_bytes;  ///< maximum per block
  int multiprocessors;
};
/// Selected by AIR_CAPABILITY.
const Capability& capability();

/// Number of devices, by AIR_DEVICES.
int devices();
/// Context of a device, which holds its streams, events and memory.
void create_context(int device);
bool has_context(int device);
/// Device of the context that is current in this thread; -1 without one.
int current_context();
void set_current_context(int device);
/// Like current_context(). Without one, makes the context of the thread's device current.
int current_device();
/// Returns false and records a wrong use if `user`, an object of `device`, is used while another is current.
bool is_on_current_device(const char* user, int device);

/// Calls f(begin, end) for two halves of a range, on two threads.
void in_two_halves(int64_t count, const std::function<void(int64_t, int64_t)>& f);

}  // namespace headroom::air
