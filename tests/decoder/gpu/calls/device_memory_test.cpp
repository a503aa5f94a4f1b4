#include <catch2/catch.hpp>
#include <vector>

#include "decoder/base/errors.h"
#include "decoder/gpu/calls/device_memory.h"
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

namespace headroom {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

/// The segment that LibTorch 2.11's caching allocator takes of a card for one block.
int64_t segment_bytes(int64_t block_bytes) {
  if (block_bytes <= kMiB) return 2 * kMiB;
  if (block_bytes < 10 * kMiB) return 20 * kMiB;
  return (block_bytes + 2 * kMiB - 1) / (2 * kMiB) * (2 * kMiB);
}

TEST_CASE("a reservation of LibTorch's allocator is exactly one segment") {
  for (const int64_t bytes : {int64_t{0}, int64_t{1}, kMiB, kMiB + 1, 2 * kMiB, 10 * kMiB - 1, 10 * kMiB,
                              10 * kMiB + 1, 12 * kMiB, int64_t{32'162'104}, (int64_t{70} << 30) + 512}) {
    CAPTURE(bytes);
    const int64_t taken = kLibtorchReservation.taken_bytes(bytes);
    CHECK(taken >= bytes);
    CHECK(segment_bytes(taken) == taken);
    CHECK(kLibtorchReservation.taken_bytes(taken) == taken);
    // The smallest limit under which that much can be used.
    CHECK(kLibtorchReservation.most_within(taken) == taken);
    CHECK(kLibtorchReservation.most_within(taken - 1) <= taken - kLibtorchReservation.page_bytes);
  }
}

TEST_CASE("an allocator of every size takes what is asked for") {
  for (const int64_t bytes : {int64_t{0}, int64_t{1}, int64_t{4097}}) {
    CHECK(ReservationSizes{}.taken_bytes(bytes) == bytes);
    CHECK(ReservationSizes{}.most_within(bytes) == bytes);
  }
}

}  // namespace
}  // namespace headroom
