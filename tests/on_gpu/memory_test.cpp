#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <vector>

#include "decoder/base/errors.h"
#include "tests/support/gpu.h"

namespace headroom::gpu {
namespace {

using Catch::Matchers::Contains;

constexpr int64_t kMiB = int64_t{1} << 20;

// Measures free memory of the whole card, so nothing else may run on it.
TEST_CASE("a reservation is aligned, counted, and given back", "[alone]") {
  const std::unique_ptr<Gpu> gpu = test::gpu_or_skip();
  if (!gpu) return;
  const int64_t before = gpu->free_bytes();
  CHECK(before <= gpu->total_bytes());
  CHECK(gpu->library_bytes() >= 0);
  WARN(gpu->device() + "; " + gpu->libraries() + "; libraries took " + std::to_string(gpu->library_bytes()) +
       " bytes");
  const std::byte* memory = gpu->reserve(512 * kMiB + 1);
  CHECK(reinterpret_cast<uintptr_t>(memory) % static_cast<uintptr_t>(2 * kMiB) == 0);
  const int64_t taken = before - gpu->free_bytes();
  CHECK(taken >= 512 * kMiB + 1);
  CHECK(taken <= 516 * kMiB);
  gpu->release();
  CHECK(before - gpu->free_bytes() <= 2 * kMiB);
}

TEST_CASE("LibTorch's allocator tells of a reservation, its end, and what it was refused") {
  using What = AllocatorEvent::What;
  const std::unique_ptr<Gpu> gpu = test::gpu_or_skip();
  if (!gpu) return;
  std::vector<AllocatorEvent> events;
  REQUIRE(gpu->watch_allocator([&](const AllocatorEvent& event) { events.push_back(event); }));
  const auto memory = reinterpret_cast<uintptr_t>(gpu->reserve(63 * kMiB));
  CHECK(events == std::vector<AllocatorEvent>{{What::taken, memory, 64 * kMiB, 0}});
  gpu->release();
  REQUIRE(events.size() == 2);
  CHECK(events[1] == AllocatorEvent{What::returned, memory, 64 * kMiB, 0});
  const int64_t asked = 2 * gpu->total_bytes();
  CHECK_THROWS_AS(gpu->reserve(asked), LimitExceeded);
  REQUIRE(events.size() == 3);
  CHECK(events[2].what == What::refused);
  CHECK(events[2].bytes >= asked);
  CHECK(events[2].free_bytes > 0);
  // Replaces the watcher by another one, then removes it.
  int others = 0;
  REQUIRE(gpu->watch_allocator([&](const AllocatorEvent&) { ++others; }));
  gpu->reserve(kMiB);
  CHECK(others == 1);
  REQUIRE(gpu->watch_allocator({}));
  gpu->release();
  CHECK(others == 1);
  CHECK(events.size() == 3);
}

TEST_CASE("what the card does not have is refused with both figures") {
  const std::unique_ptr<Gpu> gpu = test::gpu_or_skip();
  if (!gpu) return;
  const int64_t asked = 2 * gpu->total_bytes();
  try {
    gpu->reserve(asked);
    FAIL("taken");
  } catch (const LimitExceeded& error) {
    CHECK_THAT(error.what(), Contains("free") && Contains(std::to_string(gpu->total_bytes())));
  }
  CHECK(gpu->reserve(64 * kMiB) != nullptr);
  gpu->release();
}

TEST_CASE("copies on other streams wait for events") {
  const std::unique_ptr<Gpu> gpu = test::gpu_or_skip();
  if (!gpu) return;
  const int64_t bytes = 256 * kMiB;
  std::byte* there = gpu->reserve(2 * bytes);
  std::byte* from = gpu->reserve_host(bytes);
  std::byte* to = gpu->reserve_host(bytes);
  std::memset(to, 1, static_cast<size_t>(bytes));
  // More rounds than the event pool holds.
  for (int round = 0; round < 100; ++round) {
    std::memset(from, round, static_cast<size_t>(round == 0 || round == 99 ? bytes : 4096));
    const int64_t copied = round == 0 || round == 99 ? bytes : 4096;
    gpu->copy(Stream::from_host, there, from, copied);
    const Event sent = gpu->record(Stream::from_host);
    gpu->wait(Stream::compute, sent);
    gpu->copy(Stream::compute, there + bytes, there, copied);
    const Event moved = gpu->record(Stream::compute);
    gpu->wait(Stream::to_host, moved);
    gpu->copy(Stream::to_host, to, there + bytes, copied);
    const Event fetched = gpu->record(Stream::to_host);
    gpu->wait(Stream::from_host, fetched);
    gpu->wait_on_host(fetched);
    REQUIRE(gpu->happened(sent));
    REQUIRE(gpu->happened(fetched));
    REQUIRE(std::memcmp(from, to, static_cast<size_t>(copied)) == 0);
  }
  gpu->clear(there, bytes);
  gpu->wait(Stream::to_host, gpu->record(Stream::compute));
  gpu->copy(Stream::to_host, to, there, bytes);
  gpu->wait_on_host(gpu->record(Stream::to_host));
  std::vector<std::byte> zeros(static_cast<size_t>(bytes));
  CHECK(std::memcmp(to, zeros.data(), zeros.size()) == 0);
  gpu->release();
}

}  // namespace
}  // namespace headroom::gpu
