#pragma once

#include <chrono>
#include <ostream>
#include <string>

namespace headroom {

/// A progress bar on a terminal; silent elsewhere. It is wiped when it goes.
class Progress {
 public:
  /// `stream` is standard error; `quiet` silences it. A bar is drawn only where file descriptor 2 is a
  /// terminal.
  Progress(std::ostream& stream, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `share` from 0 to 1; drawn at most some times a second.
  void show(double share, const std::string& what);

 private:
  std::ostream& stream_;
  bool shown_;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace headroom
