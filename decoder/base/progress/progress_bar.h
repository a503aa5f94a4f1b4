#pragma once

#include <chrono>
#include <ostream>
#include <string>

#include "decoder/base/progress/progress.h"

namespace headroom {

/// A bar on one line of a terminal. The destructor erases it.
class ProgressBar final : public Progress {
 public:
  explicit ProgressBar(std::ostream& stream) : stream_(stream) {}
  ~ProgressBar() override { wipe(); }

  void tell(const ProgressNews& news) override;
  void wipe() override;

 private:
  void show(double share, const std::string& what);

  std::ostream& stream_;
  std::string what_;  ///< label: the current pass, or the current decode of a queue
  bool of_queue_ = false;
  bool shown_ = false;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace headroom
