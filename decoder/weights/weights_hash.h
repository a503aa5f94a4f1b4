#pragma once

#include <memory>
#include <string>

#include "decoder/weights/parameter_source.h"

namespace headroom {

/// Hashes the parameters of a decode while it reads them. The hash depends on their names and fp32 values
/// only. The order and number of reads, partial reads and the file format do not change it. The hash detects
/// damaged or different weights. It does not protect against an adversary.
class WeightsHash {
 public:
  WeightsHash();
  /// Wraps `source` so that all values read are hashed. Several threads may read the result at once.
  ParameterSource over(ParameterSource source) const;
  /// 16 hexadecimal digits. Empty if a parameter was read only in part, or if none was read.
  std::string text() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace headroom
