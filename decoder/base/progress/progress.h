#pragma once

#include <memory>
#include <ostream>
#include <string>

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

}  // namespace headroom
