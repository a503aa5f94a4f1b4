#pragma once

#include <functional>
#include <ostream>
#include <vector>

#include "decoder/base/progress/progress.h"

namespace headroom {

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
