#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "decoder/base/progress/progress_lines.h"

namespace headroom {

/// Display of a program's progress on standard error.
class Progress {
 public:
  virtual ~Progress() = default;
  virtual void tell(const ProgressNews& news) = 0;
  /// True if memory samples are shown. Each sample reads the memory state of the process.
  virtual bool wants_memory() const { return false; }
  /// Erases the display from the terminal, before a message is printed.
  virtual void wipe() {}
};

/// Scope guard that calls wipe(), also when an exception leaves the scope.
class WipedProgress {
 public:
  explicit WipedProgress(Progress& progress) : progress_(progress) {}
  ~WipedProgress() { progress_.wipe(); }
  WipedProgress(const WipedProgress&) = delete;
  WipedProgress& operator=(const WipedProgress&) = delete;

 private:
  Progress& progress_;
};

/// Progress options of the command line.
struct ProgressOptions {
  std::string style = "auto";
  bool quiet = false;
};

/// Makes a bar, lines (decoder/base/progress/progress_lines.h) or nothing. `auto` is a bar if `stream` is
/// standard error on a terminal.
std::unique_ptr<Progress> make_progress(const ProgressOptions& options, std::ostream& stream);

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

/// Writes progress lines, at most 50 in any second: 40 per second on average, with bursts of 10. Excess
/// events wait, and a later event of the same kind replaces a waiting one; regions and peaks are merged. So
/// readers may miss passes and tiles, but always see them in order. While a pipe is full, events wait too,
/// so the decode does not block. The last event of each kind is always written, at the latest at the end of
/// the run.
class ProgressWriter final : public Progress {
 public:
  /// `clock` returns the seconds since the program's start. `descriptor` is the file descriptor behind
  /// `stream`. The writer polls it so that a full pipe does not block. -1: there is none.
  ProgressWriter(std::ostream& stream, std::function<double()> clock, int descriptor = -1);

  void tell(const ProgressNews& news) override;
  bool wants_memory() const override { return true; }

 private:
  void add(ProgressEvent event);
  void write(bool all);
  bool may_write(bool all) const;

  std::ostream& stream_;
  std::function<double()> clock_;
  int descriptor_;
  double lines_left_;                   ///< lines allowed now
  double counted_at_ = 0;               ///< time of the last update of lines_left_
  std::vector<ProgressEvent> waiting_;  ///< in order; at most one of each replaceable kind
};

}  // namespace headroom
