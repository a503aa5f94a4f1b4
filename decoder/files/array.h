#pragma once

#include <cstdint>
#include <vector>

namespace headroom {

/// Numbers in C order: the last extent varies fastest.
struct Array {
  std::vector<int64_t> shape;
  std::vector<float> values;
};

}  // namespace headroom
