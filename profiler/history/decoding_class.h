#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "profiler/history/memory_history.h"

namespace headroom::profiler {

/// The autoencoder class that decodes in a recording, identified by files and functions in its stacks.
struct DecodingClass {
  std::string name;         ///< name of its family
  int64_t allocations = 0;  ///< number of allocations with its decode() on their stack
};

/// The class that allocated the most bytes, if stacks name several. Nothing if they name none.
std::optional<DecodingClass> decoding_class(const CodeStacks& stacks, const DeviceHistory& device);

}  // namespace headroom::profiler
