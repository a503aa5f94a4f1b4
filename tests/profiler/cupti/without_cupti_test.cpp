#include <catch2/catch.hpp>

#include "profiler/cupti/open_cupti.h"

namespace headroom::profiler {
namespace {

TEST_CASE("built without CUPTI a watcher says so for each kind, and hears nothing") {
  auto watcher = watch_with_cupti({WatchKind::kernels, WatchKind::memory});
  CHECK(watcher->sources() == std::vector<TraceSource>{{"CUPTI kernels", false, "built without CUPTI"},
                                                       {"CUPTI memory", false, "built without CUPTI"}});
  CHECK(watcher->now_ns() > 0);
  watcher->enter(ScopeId{1});
  int captured = 0;
  watcher->finish([&](const DeviceEvent&) { ++captured; });
  CHECK(captured == 0);
}

}  // namespace
}  // namespace headroom::profiler
