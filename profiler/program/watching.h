#pragma once

#include <string>
#include <vector>

#include "decoder/trace/trace.h"
#include "profiler/events/device_watcher.h"

namespace headroom::profiler {

/// Sources to capture besides the decode's own events.
struct Watching {
  bool allocator = true;  ///< captures LibTorch's allocator
  std::vector<WatchKind> driver{WatchKind::kernels, WatchKind::copies, WatchKind::memory, WatchKind::pools,
                                WatchKind::calls};
};

/// Parses "allocator,kernels", "all" or "none". Throws InputError that names `option` and the unknown word.
Watching parse_watching(const std::string& text, const std::string& option);

/// One line for each source that failed.
std::vector<std::string> warnings_of(const std::vector<TraceSource>& sources);

}  // namespace headroom::profiler
