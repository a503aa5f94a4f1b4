#pragma once

#include <functional>
#include <thread>
#include <vector>

namespace headroom {

/// Starts a thread that receives no signals: the program's own threads handle them.
std::thread thread_without_signals(std::function<void()> work);

/// Calls `act` in every later child of fork(). Returns false if the system has no memory for it.
bool call_in_children(void (*act)());

/// True for the signal that ends a process at once. The system sends it when memory runs out.
bool is_kill_signal(int signal);

/// Number of processors that this process may run on, by cpuset or affinity. At least 1.
int allowed_processors();

/// Number of threads worth starting: one per allowed processor, or fewer if the control group's CPU quota is
/// lower. At least 1.
int useful_threads(int allowed, double quota_processors);
/// Useful threads for this process.
int useful_threads();

/// Threads that may run beside the decoding thread, for example to compress a picture. It is
/// useful_threads(), or the user's limit if lower.
int helper_threads();
/// Sets the user's limit on helper_threads().
void limit_helper_threads(int most);

/// Time that threads of this process were ready to run but had no processor. Read from
/// /proc/self/task/*/schedstat; 0 if the kernel does not provide it.
class ProcessorWaits {
 public:
  ProcessorWaits() = default;
  ~ProcessorWaits();
  ProcessorWaits(const ProcessorWaits&) = delete;
  ProcessorWaits& operator=(const ProcessorWaits&) = delete;

  /// Starts to follow all threads that exist now.
  void follow();
  /// Seconds that the followed threads have waited since each thread started, summed over threads.
  double seconds() const;

 private:
  void close_all();

  std::vector<int> files_;
};

}  // namespace headroom
