#pragma once

#include <string>
#include <vector>

#include "decoder/trace/trace.h"
#include "profiler/events/device_watcher.h"

namespace headroom::profiler {

/// Events to capture while a GPU works, beside the decode's own events.
struct Watching {
  bool allocator = true;  ///< LibTorch's
  std::vector<WatchKind> driver{WatchKind::kernels, WatchKind::copies, WatchKind::memory, WatchKind::pools,
                                WatchKind::calls};
};

/// "allocator,kernels", "all" or "none". Throws InputError naming `option` and what is not known.
Watching parse_watching(const std::string& text, const std::string& option);

/// A line for each that did not work.
std::vector<std::string> warnings_of(const std::vector<TraceSource>& sources);

}  // namespace headroom::profiler
