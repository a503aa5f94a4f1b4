#include "profiler/events/device_events.h"

namespace headroom::profiler {

const char* name_of(WatchKind kind) {
  switch (kind) {
    case WatchKind::kernels:
      return "kernels";
    case WatchKind::copies:
      return "copies";
    case WatchKind::memory:
      return "memory";
    case WatchKind::pools:
      return "pools";
    case WatchKind::calls:
      return "calls";
  }
  return "";
}

}  // namespace headroom::profiler
