#include "decoder/gpu/calls/allocator_watch.h"

#include <catch2/catch.hpp>
#include <vector>

#include "decoder/base/errors.h"
#include "tests/emulated_gpu/emulated_gpu.h"

namespace headroom::gpu {
namespace {

using What = AllocatorEvent::What;
constexpr int64_t kMiB = int64_t{1} << 20;

TEST_CASE("the emulated GPU tells of reservations in whole segments") {
  EmulatedGpu gpu(64 * kMiB);
  std::vector<AllocatorEvent> events;
  REQUIRE(gpu.watch_allocator([&](const AllocatorEvent& event) { events.push_back(event); }));
  const auto first = reinterpret_cast<uintptr_t>(gpu.reserve(5 * kMiB));
  gpu.reserve_host(5 * kMiB);  // none of its own
  CHECK_THROWS_AS(gpu.reserve(60 * kMiB), LimitExceeded);
  CHECK(events == std::vector<AllocatorEvent>{{What::taken, first, 6 * kMiB, 0},
                                              {What::refused, 0, 60 * kMiB, 59 * kMiB}});
  gpu.release();
  REQUIRE(events.size() == 3);
  CHECK(events[2] == AllocatorEvent{What::returned, first, 6 * kMiB, 0});
  REQUIRE(gpu.watch_allocator({}));
  gpu.reserve(1);
  CHECK(events.size() == 3);
}

}  // namespace
}  // namespace headroom::gpu
