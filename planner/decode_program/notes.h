#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "decoder/base/progress/progress.h"

namespace headroom {

/// Notes to the user on standard error. They wait until the decode begins or until say(). So a rejected
/// decode prints only one line, the error.
class Notes final : public Progress {
 public:
  Notes(Progress& progress, std::ostream& err) : progress_(progress), err_(err) {}

  /// Ignores an empty line.
  void add(const std::string& line);
  void say();

  void tell(const ProgressNews& news) override;
  bool wants_memory() const override { return progress_.wants_memory(); }
  void wipe() override { progress_.wipe(); }

 private:
  Progress& progress_;
  std::ostream& err_;
  std::vector<std::string> lines_;
};

}  // namespace headroom
