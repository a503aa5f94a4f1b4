#pragma once

#include "profiler/events/device_events.h"

namespace headroom::profiler::cupti {

/// Name of the source in a trace.
inline const char* source_name(WatchKind kind) {
  switch (kind) {
    case WatchKind::kernels:
      return "CUPTI kernels";
    case WatchKind::copies:
      return "CUPTI copies";
    case WatchKind::memory:
      return "CUPTI memory";
    case WatchKind::pools:
      return "CUPTI pools";
    case WatchKind::calls:
      return "CUPTI calls";
  }
  return "CUPTI";
}

}  // namespace headroom::profiler::cupti
