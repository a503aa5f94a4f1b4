#include "decoder/gpu/memory/gpu_memory.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <vector>

#include "decoder/base/errors.h"

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

TEST_CASE("a block asks for room for those that follow it, each at its aligned size") {
  const auto dry_run = std::make_shared<GpuMemory>();
  const auto first = dry_run->allocate_block(700, {nullptr, 2});
  const auto second = dry_run->allocate_block(700, {first.get(), 1});
  const std::vector<MemoryRequests::Event>& events = dry_run->requests().events();
  CHECK(events[0].series.bytes_after == 2 * aligned_bytes(700));
  CHECK(events[1].series.before == events[0].number);
  CHECK(events[1].series.bytes_after == aligned_bytes(700));
}

TEST_CASE("a decode finds what its dry run asked for at its offsets, micro-batch by micro-batch") {
  const auto dry_run = std::make_shared<GpuMemory>();
  std::vector<std::byte*> nowhere;
  const auto kept = dry_run->allocate(5000);
  const size_t micro_batch = dry_run->requests().events().size();
  ask(*dry_run, nowhere);
  const MemoryRequests requests = dry_run->requests();
  const Placement placement = find_placement(requests);
  CHECK(placement.bytes == placement.live_bytes);

  std::vector<std::byte> reservation(static_cast<size_t>(placement.bytes));
  const auto memory = std::make_shared<GpuMemory>(reservation.data(), requests, placement, 7000);
  Adding observer;
  Observation observation = memory->observe(&observer);
  auto held = memory->allocate(5000);
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
  // Memory outside the reservation is reported as well.
  CHECK(observer.bytes == 7000 + aligned_bytes(5000));
  CHECK(observer.most_bytes == 7000 + placement.live_bytes);
  observation.stop();
  CHECK(observer.bytes == aligned_bytes(5000));
  held.reset();  // nobody observes any more
  CHECK(observer.bytes == aligned_bytes(5000));
}

TEST_CASE("blocks that are moved between passes hold what they held, and are handed back from there") {
  const auto dry_run = std::make_shared<GpuMemory>();
  const auto decode = [](GpuMemory& memory, const auto& between) {
    auto first = memory.allocate_block(1000, {}), second = memory.allocate_block(500, {});
    std::map<const void*, std::shared_ptr<void>*> blocks{{first.get(), &first}, {second.get(), &second}};
    between(blocks);
    memory.allocate(2000).reset();
    second.reset();
    first.reset();
  };
  dry_run->begin_pass();
  decode(*dry_run, [&](const auto&) { dry_run->begin_pass(); });
  const MemoryRequests requests = dry_run->requests();
  REQUIRE(requests.passes().size() == 2);
  const size_t event = requests.passes()[1];
  // The first is put aside, the second comes to where it was, and the first to behind that.
  const Placement placement{
      4096,
      3584,
      {0, 1024, 2048},
      {{event, 0, 1024, 0, 3072}, {event, 1, 512, 1024, 0}, {event, 0, 1024, 3072, 512}}};
  std::vector<std::byte> reservation(4096);
  const auto memory = std::make_shared<GpuMemory>(reservation.data(), requests, placement, 0);
  class Followed final : public MemoryObserver {
   public:
    std::map<const void*, int64_t> live;
    void allocated(const void* at, int64_t bytes, int64_t, int64_t) override { live[at] = bytes; }
    void freed(const void* at, int64_t bytes, int64_t, int64_t) override {
      CHECK(live.at(at) == bytes);
      live.erase(at);
    }
    void moved(const void* from, const void* to) override {
      auto block = live.extract(from);
      REQUIRE_FALSE(block.empty());
      block.key() = to;
      CHECK(live.insert(std::move(block)).inserted);
    }
  } followed;
  const Observation observation = memory->observe(&followed);
  for (int round = 0; round < 2; ++round) {  // micro-batch by micro-batch
    CAPTURE(round);
    memory->go_to(0);
    decode(*memory, [&](const auto& blocks) {
      for (const auto& [address, block] : blocks)
        *static_cast<char*>(block->get()) = block == blocks.begin()->second ? 'a' : 'b';
      const auto moved = memory->move_blocks([](void* to, const void* from, int64_t bytes) {
        std::memcpy(to, from, static_cast<size_t>(bytes));
      });
      CHECK(moved.size() == 2);
      for (const auto& [address, block] : blocks) *block = std::shared_ptr<void>(*block, moved.at(address));
      CHECK(static_cast<std::byte*>(blocks.begin()->second->get()) == reservation.data() + 512);
      CHECK(*static_cast<char*>(blocks.begin()->second->get()) == 'a');
      CHECK(*reinterpret_cast<char*>(reservation.data()) == 'b');
      CHECK(memory->move_blocks([](void*, const void*, int64_t) { FAIL("moved twice"); }).empty());
    });
    CHECK(followed.live.empty());
  }
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
  SECTION("hands back something else") {
    memory->allocate(5000).reset();
    memory->allocate(1000).reset();
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
