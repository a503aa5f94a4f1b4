#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "profiler/cupti/open_cupti.h"
#include "tests/support/gpu.h"

namespace headroom::profiler {
namespace {

constexpr int64_t kBytes = int64_t{64} << 20;

TEST_CASE("CUPTI tells what a GPU did, in which scope, and what memory was taken for it") {
  auto watcher = watch_with_cupti(
      {WatchKind::kernels, WatchKind::copies, WatchKind::memory, WatchKind::pools, WatchKind::calls});
  const int64_t begun = watcher->now_ns();
  const std::unique_ptr<gpu::Gpu> gpu = test::gpu_or_skip();
  if (!gpu) return;
  for (const TraceSource& source : watcher->sources())
    WARN(source.name + (source.captured ? ": " : " not captured: ") + source.detail);
  if (!watcher->sources().front().captured) return;  // another profiler may be active

  watcher->enter(ScopeId{1});
  std::byte* memory = gpu->reserve(2 * kBytes);
  std::byte* host = gpu->reserve_host(kBytes);
  watcher->enter(ScopeId{2});
  gpu->clear(memory, kBytes);
  watcher->enter(ScopeId{3});
  gpu->copy(gpu::Stream::compute, memory + kBytes, memory, kBytes);
  watcher->enter(kNoScope);
  gpu->copy(gpu::Stream::compute, host, memory, kBytes);
  gpu->wait_on_host(gpu->record(gpu::Stream::compute));
  gpu->release();
  const int64_t ended = watcher->now_ns();
  std::vector<DeviceEvent> events;
  watcher->finish([&](DeviceEvent event) { events.push_back(std::move(event)); });
  for (const TraceSource& source : watcher->sources()) CHECK(source.captured);

  std::map<uint32_t, ScopeId> scopes;
  std::map<uint32_t, std::string> calls;
  for (const DeviceEvent& event : events) {
    CHECK_FALSE(std::holds_alternative<RecordsLost>(event));
    if (const auto* scope = std::get_if<ScopeOfCall>(&event)) scopes[scope->correlation] = scope->scope;
    if (const auto* call = std::get_if<DriverCall>(&event)) calls[call->correlation] += call->name + " ";
  }
  const auto scope_of = [&](uint32_t call) { return scopes.count(call) == 0 ? kNoScope : scopes.at(call); };
  std::map<std::string, std::vector<ScopeId>> ran;
  int64_t device_bytes = 0, most_device_bytes = 0;
  for (const DeviceEvent& event : events) {
    if (const auto* one = std::get_if<DeviceActivity>(&event)) {
      CHECK(one->begin_ns >= begun);
      CHECK(one->end_ns <= ended);
      if (one->bytes == kBytes) ran[one->name].push_back(scope_of(one->correlation));
    }
    if (const auto* one = std::get_if<DriverMemoryChanged>(&event)) {
      WARN(std::string(one->bytes < 0 ? "gave " : "took ") + std::to_string(one->bytes) + " bytes, place " +
           std::to_string(static_cast<int>(one->place)) + ", pool " + std::to_string(one->pool) + ", by " +
           calls[one->correlation]);
      if (one->place == MemoryPlace::device) device_bytes += one->bytes;
      most_device_bytes = std::max(most_device_bytes, device_bytes);
    }
  }
  CHECK(ran["fill"] == std::vector<ScopeId>{ScopeId{2}});
  CHECK(ran["device to device"] == std::vector<ScopeId>{ScopeId{3}});
  CHECK(ran["device to host"] == std::vector<ScopeId>{kNoScope});
  CHECK(most_device_bytes >= 2 * kBytes);
}

}  // namespace
}  // namespace headroom::profiler
