#include "profiler/cupti/open_cupti.h"

// Stubs for builds without CUPTI's headers.
namespace headroom::profiler {

std::vector<std::filesystem::path> cupti_libraries() {
  return {};
}

std::unique_ptr<DeviceWatcher> watch_with_cupti(const std::vector<WatchKind>& kinds,
                                                const std::vector<std::filesystem::path>&,
                                                const CuptiBounds&) {
  std::vector<TraceSource> sources;
  sources.reserve(kinds.size());
  for (WatchKind kind : kinds) sources.push_back({cupti_source(kind), false, "built without CUPTI"});
  return std::make_unique<NoWatcher>(std::move(sources));
}

}  // namespace headroom::profiler
