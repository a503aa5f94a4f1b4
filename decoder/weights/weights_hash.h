#pragma once

#include <memory>
#include <string>

#include "decoder/weights/parameter_source.h"

namespace headroom {

/// A hash of the parameters that a decode reads, taken as they are read. It depends on their names and fp32
/// values, and not on the order, the parts or the number of times in which they are read, nor on how files
/// store them. It tells damaged or other weights apart; it is no protection against an adversary.
class WeightsHash {
 public:
  WeightsHash();
  /// The source, whose values are hashed. Like `source`, it may be read by several threads.
  ParameterSource over(ParameterSource source) const;
  /// 16 hexadecimal digits; empty where a parameter was read in part, or none was.
  std::string text() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace headroom
