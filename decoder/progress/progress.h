#pragma once

#include <memory>
#include <ostream>
#include <string>

#include "decoder/progress/progress_lines.h"

namespace headroom {

/// Display of a program's progress on standard error.
class Progress {
 public:
  virtual ~Progress() = default;
  virtual void tell(const ProgressNews& news) = 0;
  /// True if memory samples are shown. Each sample reads the memory state of the process.
  virtual bool wants_memory() const { return false; }
  /// Removes what stands on the terminal, before messages.
  virtual void wipe() {}
};

/// Wipes on the way out of a scope, also where an error leaves it.
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

/// A bar, lines (decoder/progress/progress_lines.h) or nothing; `auto` is a bar where `stream` is standard
/// error and that a terminal.
std::unique_ptr<Progress> make_progress(const ProgressOptions& options, std::ostream& stream);

/// From now on writing to a pipe that nobody reads any more is a failed write and not the program's end: a
/// decode outlives whoever looks at its progress.
void ignore_closed_pipes();

}  // namespace headroom
