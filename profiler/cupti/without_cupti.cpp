#include <chrono>

#include "profiler/cupti/open_cupti.h"
#include "profiler/cupti/source_names.h"

// What is built where CUPTI's headers are missing.
namespace headroom::profiler {
namespace {

class NoWatcher final : public DeviceWatcher {
 public:
  explicit NoWatcher(const std::vector<WatchKind>& kinds) {
    for (WatchKind kind : kinds) sources_.push_back({cupti::source_name(kind), false, "built without CUPTI"});
  }

  int64_t now_ns() const override { return std::chrono::steady_clock::now().time_since_epoch().count(); }
  void enter(ScopeId) noexcept override {}
  void finish(const std::function<void(DeviceEvent)>&) noexcept override {}
  std::vector<TraceSource> sources() const override { return sources_; }

 private:
  std::vector<TraceSource> sources_;
};

}  // namespace

std::vector<std::filesystem::path> cupti_libraries() {
  return {};
}

std::unique_ptr<DeviceWatcher> watch_with_cupti(const std::vector<WatchKind>& kinds,
                                                const std::vector<std::filesystem::path>&,
                                                const CuptiBounds&) {
  return std::make_unique<NoWatcher>(kinds);
}

}  // namespace headroom::profiler
