#pragma once

#include <functional>
#include <ostream>
#include <vector>

#include "decoder/progress/progress.h"

namespace headroom {

/// Writes progress lines, at most 50 in a second: 40 a second on the whole, and up to 10 at once. What has to
/// wait is replaced by what comes later of its kind, regions and peaks merged; so readers may miss passes and
/// tiles but never see them out of order, and the last of each kind is always written, at the end at the
/// latest. Where nobody reads, nothing is written.
class ProgressWriter final : public Progress {
 public:
  /// `clock` gives the seconds since the program began. `descriptor`: where `stream` leads to, so that a full
  /// pipe is not waited for; -1 where it is none.
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
  double lines_left_;                   ///< that may be written now
  double counted_at_ = 0;               ///< when lines_left_ held
  std::vector<ProgressEvent> waiting_;  ///< in their order, one of each kind that can be replaced
};

}  // namespace headroom
