#include "decoder/gpu/gpu_memory.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <stdexcept>
#include <vector>

#include "decoder/graph/errors.h"

namespace headroom {
namespace {

/// Adds up what is reported to it.
class Adding final : public MemoryObserver {
 public:
  int64_t bytes = 0, live_bytes = 0, most_bytes = 0;
  void allocated(const void*, int64_t came, int64_t live, int64_t) override {
    bytes += came;
    live_bytes = live;
    most_bytes = std::max(most_bytes, live);
  }
  void freed(const void*, int64_t went, int64_t live, int64_t) override {
    bytes -= went;
    live_bytes = live;
  }
};

/// A micro-batch in small: one allocation goes while a smaller one stays, and another comes.
void ask(GpuMemory& memory, std::vector<std::byte*>& addresses) {
  auto large = memory.allocate(3000);
  const auto small = memory.allocate(100);
  addresses.push_back(static_cast<std::byte*>(large.get()));
  large.reset();
  addresses.push_back(static_cast<std::byte*>(memory.allocate(2000).get()));
}

TEST_CASE("a decode finds what its dry run asked for at its offsets, micro-batch by micro-batch") {
  const auto dry_run = std::make_shared<GpuMemory>();
  std::vector<std::byte*> nowhere;
  const auto materialised = dry_run->allocate(5000);
  const size_t micro_batch = dry_run->requests().events().size();
  ask(*dry_run, nowhere);
  const MemoryRequests requests = dry_run->requests();
  const Placement placement = find_placement(requests);
  CHECK(placement.bytes == placement.live_bytes);

  std::vector<std::byte> reservation(static_cast<size_t>(placement.bytes));
  const auto memory = std::make_shared<GpuMemory>(reservation.data(), requests, placement, 7000);
  Adding observer;
  memory->observe(&observer);
  const auto held = memory->allocate(5000);
  std::vector<std::byte*> first, second;
  ask(*memory, first);
  memory->go_to(micro_batch);
  ask(*memory, second);
  CHECK(first == second);
  for (const std::byte* address : first) {
    CHECK(address >= reservation.data());
    CHECK(address + 2000 <= reservation.data() + reservation.size());
  }
  CHECK(memory->live_bytes() == 7000 + aligned_bytes(5000));
  CHECK(observer.live_bytes == memory->live_bytes());
  // What is held elsewhere is reported as well.
  CHECK(observer.bytes == 7000 + aligned_bytes(5000));
  CHECK(observer.most_bytes == 7000 + placement.live_bytes);
  memory->stop_observing();
  CHECK(observer.bytes == aligned_bytes(5000));
}

TEST_CASE("a decode that hands back in another order than its dry run is given nothing more") {
  const auto dry_run = std::make_shared<GpuMemory>();
  {
    auto first = dry_run->allocate(1000);
    const auto second = dry_run->allocate(1000);
    first.reset();
  }
  const auto last = dry_run->allocate(1000);
  const MemoryRequests requests = dry_run->requests();
  const Placement placement = find_placement(requests);
  std::vector<std::byte> reservation(static_cast<size_t>(placement.bytes));
  const auto memory = std::make_shared<GpuMemory>(reservation.data(), requests, placement, 0);
  auto first = memory->allocate(1000);
  auto second = memory->allocate(1000);
  second.reset();
  first.reset();
  CHECK_THROWS_AS(memory->allocate(1000), std::logic_error);
}

TEST_CASE("a decode that does not do what its dry run did is stopped before it touches what is not its own") {
  const auto dry_run = std::make_shared<GpuMemory>();
  dry_run->allocate(5000).reset();
  const auto last = dry_run->allocate(1000);
  const MemoryRequests requests = dry_run->requests();
  const Placement placement = find_placement(requests);
  std::vector<std::byte> reservation(static_cast<size_t>(placement.bytes));
  const auto memory = std::make_shared<GpuMemory>(reservation.data(), requests, placement, 0);
  SECTION("asks for more") {
    CHECK_THROWS_AS(memory->allocate(6000), std::logic_error);
  }
  SECTION("hands back too late") {
    const auto held = memory->allocate(5000);
    CHECK_THROWS_AS(memory->allocate(1000), std::logic_error);
  }
  SECTION("asks again after the end") {
    memory->allocate(5000).reset();
    const auto held = memory->allocate(1000);
    CHECK_THROWS_AS(memory->allocate(1000), std::logic_error);
  }
}

TEST_CASE("memory without a dry run is handed out behind all that is live, up to its end") {
  std::vector<std::byte> reservation(8 * gpu::kOffsetUnit);
  const auto memory =
      std::make_shared<GpuMemory>(reservation.data(), static_cast<int64_t>(reservation.size()));
  const auto offset = [&](const std::shared_ptr<void>& memory_of) {
    return static_cast<std::byte*>(memory_of.get()) - reservation.data();
  };
  auto first = memory->allocate(1), second = memory->allocate(gpu::kOffsetUnit + 1);
  CHECK(offset(first) == 0);
  CHECK(offset(second) == gpu::kOffsetUnit);
  CHECK(memory->live_bytes() == 3 * gpu::kOffsetUnit);
  first.reset();
  auto third = memory->allocate(4 * gpu::kOffsetUnit);
  CHECK(offset(third) == 3 * gpu::kOffsetUnit);
  CHECK(memory->most_bytes() == 7 * gpu::kOffsetUnit);
  CHECK_THROWS_AS(memory->allocate(2 * gpu::kOffsetUnit), LimitExceeded);
  third.reset();
  memory->start_window();
  CHECK(offset(memory->allocate(3 * gpu::kOffsetUnit)) == 3 * gpu::kOffsetUnit);
  CHECK(memory->window_peak_bytes() == 5 * gpu::kOffsetUnit);
  second.reset();
  CHECK(memory->live_bytes() == 0);
  CHECK(offset(memory->allocate(1)) == 0);
  CHECK(memory->most_bytes() == 7 * gpu::kOffsetUnit);
}

}  // namespace
}  // namespace headroom
