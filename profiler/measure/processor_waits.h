#pragma once

#include <vector>

namespace headroom::profiler {

/// How long threads of this process were ready to run and had no processor, since others had them all: what
/// the kernel counts in /proc/self/task/*/schedstat. Nothing where it does not.
class ProcessorWaits {
 public:
  ProcessorWaits() = default;
  ~ProcessorWaits();
  ProcessorWaits(const ProcessorWaits&) = delete;
  ProcessorWaits& operator=(const ProcessorWaits&) = delete;

  /// Follows all threads that there are now.
  void follow();
  /// Seconds that all followed threads together have waited, since each of them began.
  double seconds() const;

 private:
  void close_all();

  std::vector<int> files_;
};

}  // namespace headroom::profiler
