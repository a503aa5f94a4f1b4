#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "decoder/progress/progress.h"

namespace headroom {

/// Lines for people on standard error, beside a program's progress. They wait until the decode has begun, or
/// until say(): then nothing is left that could refuse the decode, and a refusal is one line.
class Notes final : public Progress {
 public:
  Notes(Progress& progress, std::ostream& err) : progress_(progress), err_(err) {}

  /// Nothing where the line is empty.
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
