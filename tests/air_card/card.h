#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

// State that the libraries of the air card share. libcudart.so.13 exports it (tests/air_card/README.md).
namespace headroom::air {

#define AIR_API extern "C" __attribute__((visibility("default")))

/// Held during each call of a library.
std::recursive_mutex& mutex();

/// The environment variable, or `otherwise` if it is not set.
std::string setting(const char* name, const char* otherwise = "");
int64_t number_setting(const char* name, int64_t otherwise);

// faults.cpp

/// Counts a call by its name. Returns a status other than 0 if the call has to fail: AIR_FAIL names it, or
/// the device has failed before. `failure` is the status for a call that AIR_FAIL names without a status.
int begin_call(const char* name, int failure);
/// Notes what the call returns to the program.
void end_call(const char* name, int status);
/// Marks the device as failed: later calls return `status`, as CUDA does after a fault in a kernel.
void fail_device(int status, const std::string& why);
/// Adds AIR_MUTATE's number to a value if AIR_MUTATE names `what` and `index`.
int64_t mutated(const char* what, size_t index, int64_t value);

/// Runs `body` as a call of a library. A call that has to fail skips `body`, unless it releases something.
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
/// Adds a line to the report's wrong uses.
void wrong_use(const std::string& text);

// memory.cpp

enum class Memory { pageable, device, pinned };
Memory memory_of(const void* begin);
/// Adds a wrong use and returns false if the bytes begin in memory of the card, pinned or freed memory and do
/// not lie in one live allocation.
bool check_range(const char* user, const void* begin, int64_t bytes);
/// Like check_range(), and the bytes have to be memory of the card.
bool check_device_range(const char* user, const void* begin, int64_t bytes);

// launches.cpp

struct Launch {
  const char* kernel;
  uint32_t blocks[3], threads[3];
  size_t shared_bytes;
};
/// A launch that is not made by CUDA's functions: counts it and checks it against the limits of the card.
/// Returns why the launch failed; nothing if it did not.
std::string note_launch(const Launch& launch);
/// Says that kernels run, so that cuDNN and cuBLASLt have to compute too.
void kernels_run();
bool kernels_are_run();

// streams.cpp

/// Appends work to a stream. AIR_ORDER says when it runs.
void enqueue(const void* stream, std::function<void()> work);
/// True if AIR_ORDER is `now`: work runs when it is given to a stream.
bool work_runs_now();
/// Runs all work of a stream, or of all streams.
void drain(const void* stream);
void drain_all();

// device.cpp

struct Capability {
  int major, minor;
  size_t shared_bytes;  ///< that a block can have
  int multiprocessors;
};
/// By AIR_CAPABILITY.
const Capability& capability();

/// f(begin, end) over two halves of a range, on two threads.
void in_two_halves(int64_t count, const std::function<void(int64_t, int64_t)>& f);

}  // namespace headroom::air
