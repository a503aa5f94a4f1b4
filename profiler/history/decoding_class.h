#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profiler/history/memory_history.h"

namespace headroom::profiler {

/// The autoencoder whose decode a recording is of, by the files and functions in its stacks.
struct DecodingClass {
  std::string name;           ///< of its family
  int64_t allocations = 0;    ///< whose stacks go through its decode()
  bool tiled = false;         ///< some through its tiled_decode()
  std::vector<bool> decodes;  ///< by StackId: goes through it
};

/// The class that allocated the most bytes, if stacks name several. Nothing if they name none.
std::optional<DecodingClass> decoding_class(const CodeStacks& stacks, const DeviceHistory& device);

}  // namespace headroom::profiler
