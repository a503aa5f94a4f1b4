#pragma once

#include <cstdint>
#include <vector>

namespace headroom {

/// An fp32 array in C order: the last axis is contiguous.
struct Array {
  std::vector<int64_t> shape;
  std::vector<float> values;
};

}  // namespace headroom
