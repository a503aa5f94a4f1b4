#pragma once

#include <vector>

namespace headroom {

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
