#include <catch2/catch.hpp>
#include <string>

#include "profiler/cupti/open_cupti.h"

namespace headroom::profiler {
namespace {

/// NVIDIA's own library, with a driver or without one: it must say what it can do, and come to an end.
TEST_CASE("the installed CUPTI listens or says why not") {
  const std::vector<WatchKind> kinds{WatchKind::kernels, WatchKind::copies, WatchKind::memory,
                                     WatchKind::pools, WatchKind::calls};
  for (int round = 0; round < 2; ++round) {
    auto watcher = watch_with_cupti(kinds);
    const std::vector<TraceSource> sources = watcher->sources();
    CHECK(sources.size() >= kinds.size());
    for (const TraceSource& source : sources) {
      if (round == 0) WARN(source.name + (source.captured ? ": " : " not captured: ") + source.detail);
      CHECK_FALSE(source.detail.empty());
      CHECK(source.detail.find('\n') == std::string::npos);
    }
    const int64_t before = watcher->now_ns();
    CHECK(before > 0);
    CHECK(watcher->now_ns() >= before);
    watcher->enter(ScopeId{1});
    watcher->enter(ScopeId{2});
    watcher->enter(kNoScope);
    int events = 0;
    watcher->finish([&](const DeviceEvent&) { ++events; });
    if (!sources[0].captured) CHECK(events == 0);
  }
}

}  // namespace
}  // namespace headroom::profiler
