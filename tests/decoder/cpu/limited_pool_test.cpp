#include "decoder/cpu/limited_pool.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "decoder/base/errors.h"
#include "decoder/base/os/process_memory.h"
#include "tests/support/random.h"

namespace headroom {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

TEST_CASE("the limit is refused before anything is allocated") {
  LimitedPool pool(8 * kMiB);
  void* first = pool.allocate(5 * kMiB);
  const int64_t live = pool.live_bytes(), resident = pool.peak_resident_bytes(), peak = pool.peak_bytes();
  for (const int64_t bytes :
       {3 * kMiB + 1, 4 * kMiB, int64_t{1} << 40, std::numeric_limits<int64_t>::max() / 2}) {
    CAPTURE(bytes);
    CHECK_THROWS_AS(pool.allocate(bytes), LimitExceeded);
  }
  CHECK(pool.live_bytes() == live);
  CHECK(pool.peak_bytes() == peak);
  CHECK(pool.peak_resident_bytes() == resident);
  try {
    pool.allocate(4 * kMiB);
    FAIL("expected a refusal");
  } catch (const LimitExceeded& refused) {
    const std::string message = refused.what();
    CHECK_THAT(message, Catch::Contains(std::to_string(4 * kMiB)));
    CHECK_THAT(message, Catch::Contains(std::to_string(5 * kMiB)));
    CHECK_THAT(message, Catch::Contains(std::to_string(8 * kMiB)));
  }
  void* second = pool.allocate(3 * kMiB);  // what is left to the byte
  CHECK(pool.live_bytes() == 8 * kMiB);
  CHECK_THROWS_AS(pool.allocate(1), LimitExceeded);
  pool.deallocate(first);
  pool.deallocate(second);
  CHECK(pool.live_bytes() == 0);
}

TEST_CASE("sizes near the ends of 64 bits are refused") {
  LimitedPool pool(kMiB);
  for (const int64_t bytes : {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::max() - 4094,
                              int64_t{-1}, std::numeric_limits<int64_t>::min()}) {
    CAPTURE(bytes);
    CHECK_THROWS_AS(pool.allocate(bytes), LimitExceeded);
  }
  CHECK(pool.live_bytes() == 0);
  LimitedPool nothing(0);
  CHECK_THROWS_AS(nothing.allocate(1), LimitExceeded);
  LimitedPool negative(-5);
  CHECK_THROWS_AS(negative.allocate(1), LimitExceeded);
}

TEST_CASE("freed pages stay warm for the next of the size") {
  LimitedPool pool(16 * kMiB);
  auto* first = static_cast<char*>(pool.allocate(2 * kMiB));
  first[kMiB] = 'w';
  pool.deallocate(first);
  auto* second = static_cast<char*>(pool.allocate(2 * kMiB));
  CHECK(second == first);
  CHECK(second[kMiB] == 'w');  // the page was not handed back and faulted in anew
  CHECK(pool.peak_resident_bytes() == 2 * kMiB);
  pool.deallocate(second);
}

TEST_CASE("warm pages are handed back before live and warm ones pass the limit") {
  const int64_t limit = 64 * kMiB;
  LimitedPool pool(limit);
  const int64_t before = resident_bytes();
  // Sizes that no earlier hole fits: every one needs fresh addresses.
  for (int64_t mebibytes = 20; mebibytes <= 60; mebibytes += 5) {
    auto* memory = static_cast<char*>(pool.allocate(mebibytes * kMiB));
    for (int64_t at = 0; at < mebibytes * kMiB; at += 4096) memory[at] = 'x';
    pool.deallocate(memory);
    CHECK(pool.peak_resident_bytes() <= limit);
    CHECK(resident_bytes() - before <= limit + kMiB);
  }
}

TEST_CASE("warm pages are handed back beyond the resident goal, and what is live never suffers from it") {
  LimitedPool pool(16 * kMiB, 4 * kMiB);
  void* first = pool.allocate(3 * kMiB);
  std::memset(first, 1, 3 * kMiB);
  pool.deallocate(first);
  void* other = pool.allocate(kMiB);  // from the warm pages
  CHECK(pool.peak_resident_bytes() == 3 * kMiB);
  void* larger = pool.allocate(3 * kMiB);  // does not fit in what is warm, of which two pages must go
  CHECK(pool.peak_resident_bytes() == 4 * kMiB);
  void* beyond = pool.allocate(8 * kMiB);
  CHECK(pool.live_bytes() == 12 * kMiB);
  CHECK(pool.peak_resident_bytes() == 12 * kMiB);
  for (void* memory : {other, larger, beyond}) pool.deallocate(memory);
  CHECK_THROWS_AS(LimitedPool(kMiB, 4 * kMiB).allocate(2 * kMiB), LimitExceeded);
}

TEST_CASE("any order of allocations keeps contents, counts and the limit") {
  const uint64_t seed = GENERATE(range(uint64_t{1}, uint64_t{9}));
  CAPTURE(seed);
  test::Random random(seed);
  int64_t limit = random.integer(1, 12) * kMiB;
  limit += random.integer(0, 5000);
  LimitedPool pool(limit);
  struct Piece {
    unsigned char* memory;
    int64_t bytes;
    unsigned char pattern;
  };
  std::vector<Piece> pieces;
  const auto intact = [](const Piece& piece) {
    return std::all_of(piece.memory, piece.memory + piece.bytes,
                       [&](unsigned char c) { return c == piece.pattern; });
  };
  const auto rounded = [](int64_t bytes) {
    const int64_t unit = bytes < 16384 ? 64 : 4096;
    return (bytes + unit - 1) / unit * unit;
  };
  int64_t live = 0, peak = 0, window_peak = 0, refused = 0;
  for (int step = 0; step < 1500; ++step) {
    if (pieces.empty() || random.chance(0.55)) {
      const int64_t bytes = random.chance(0.3) ? random.integer(1, 20000) : random.integer(16384, limit / 4);
      const bool fits = live + rounded(bytes) <= limit;
      void* memory = nullptr;
      try {
        memory = pool.allocate(bytes);
      } catch (const LimitExceeded&) {
        ++refused;
      }
      REQUIRE((memory != nullptr) == fits);
      REQUIRE(reinterpret_cast<uintptr_t>(memory) % 64 == 0);
      if (!fits) continue;
      const auto pattern = static_cast<unsigned char>(random.integer(1, 255));
      pieces.push_back({static_cast<unsigned char*>(memory), bytes, pattern});
      std::fill_n(pieces.back().memory, bytes, pattern);
      live += rounded(bytes);
      peak = std::max(peak, live);
      window_peak = std::max(window_peak, live);
    } else {
      const auto at = static_cast<size_t>(random.integer(0, static_cast<int64_t>(pieces.size()) - 1));
      REQUIRE(intact(pieces[at]));
      live -= rounded(pieces[at].bytes);
      pool.deallocate(pieces[at].memory);
      pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(at));
    }
    REQUIRE(pool.live_bytes() == live);
    REQUIRE(pool.peak_bytes() == peak);
    REQUIRE(pool.window_peak_bytes() == window_peak);
    REQUIRE(pool.peak_resident_bytes() <= limit);
    if (random.chance(0.02)) {
      pool.start_window();
      window_peak = live;
    }
  }
  for (const Piece& piece : pieces) {
    CHECK(intact(piece));
    pool.deallocate(piece.memory);
  }
  int on_stack = 0;
  pool.deallocate(nullptr);
  pool.deallocate(&on_stack);  // not its own: left alone
  CHECK(pool.live_bytes() == 0);
  CHECK(refused > 0);
}

TEST_CASE("touching any of it brings in no more than what is live or warm, huge pages or not") {
  const uint64_t seed = GENERATE(range(uint64_t{1}, uint64_t{7}));
  CAPTURE(seed);
  struct Counts final : MemoryObserver {
    int64_t live = 0, warm = 0;
    void allocated(const void*, int64_t, int64_t now_live, int64_t now_warm) override {
      live = now_live;
      warm = now_warm;
    }
    void freed(const void*, int64_t, int64_t now_live, int64_t now_warm) override {
      live = now_live;
      warm = now_warm;
    }
  } counts;
  test::Random random(seed);
  LimitedPool pool(48 * kMiB, random.integer(8, 32) * kMiB);
  const Observation observation = pool.observe(&counts);
  std::vector<void*> pieces;
  for (int step = 0; step < 200; ++step) {
    if (pieces.empty() || (counts.live < 34 * kMiB && random.chance(0.55))) {
      const int64_t bytes =
          random.chance(0.5) ? random.integer(16384, kMiB) : random.integer(kMiB, 12 * kMiB);
      auto* memory = static_cast<char*>(pool.allocate(bytes));
      for (int64_t at = 0; at < bytes; at += 4096) memory[at] = '\1';
      pieces.push_back(memory);
    } else {
      const auto at = static_cast<size_t>(random.integer(0, static_cast<int64_t>(pieces.size()) - 1));
      pool.deallocate(pieces[at]);
      pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(at));
    }
    REQUIRE(pool.resident_bytes() <= counts.live + counts.warm);
  }
  for (void* memory : pieces) pool.deallocate(memory);
}

TEST_CASE("an observer sees what was live before as allocated and what is live afterwards as freed") {
  struct Held final : MemoryObserver {
    std::map<const void*, int64_t> bytes;
    int64_t live = 0;
    void allocated(const void* memory, int64_t of, int64_t now_live, int64_t) override {
      CHECK(bytes.emplace(memory, of).second);
      live = now_live;
    }
    void freed(const void* memory, int64_t of, int64_t now_live, int64_t) override {
      CHECK(bytes.at(memory) == of);
      bytes.erase(memory);
      live = now_live;
    }
  };
  LimitedPool pool(8 * kMiB);
  const auto small = pool.take(100);
  auto large = pool.take(kMiB);
  {
    Held held;
    const Observation observation = pool.observe(&held);
    CHECK(held.bytes.size() == 2);
    CHECK(held.live == pool.live_bytes());
    large.reset();
    large = pool.take(2 * kMiB);
    CHECK(held.live == pool.live_bytes());
  }
  large.reset();  // nobody observes any more
  Held held;
  Observation observation = pool.observe(&held);
  CHECK(held.bytes.size() == 1);
  observation.stop();
  CHECK(held.bytes.empty());
  CHECK(held.live == 0);
  CHECK(pool.live_bytes() > 0);
}

TEST_CASE("a held pool hands warm pages back instead of growing, and grows only for what is live") {
  LimitedPool pool(64 * kMiB);
  const auto fragment = [&] {
    // 12 MiB live at the most, in ranges that do not fit what comes next.
    void* a = pool.allocate(4 * kMiB);
    void* b = pool.allocate(4 * kMiB);
    void* c = pool.allocate(4 * kMiB);
    pool.deallocate(a);
    pool.deallocate(c);
    void* d = pool.allocate(8 * kMiB);
    pool.deallocate(b);
    pool.deallocate(d);
  };
  SECTION("free to take its limit") {
    fragment();
    CHECK(pool.peak_resident_bytes() > 12 * kMiB);
  }
  SECTION("held") {
    pool.hold_resident(12 * kMiB);
    for (int i = 0; i < 3; ++i) fragment();
    CHECK(pool.peak_resident_bytes() == 12 * kMiB);
    void* large = pool.allocate(20 * kMiB);
    CHECK(pool.peak_resident_bytes() == 20 * kMiB);
    pool.deallocate(large);
    CHECK_THROWS_AS(pool.allocate(64 * kMiB + 1), LimitExceeded);
  }
}

TEST_CASE("room for other memory is made of warm pages, and live ones stay") {
  LimitedPool pool(32 * kMiB, 16 * kMiB);
  void* live = pool.allocate(4 * kMiB);
  void* freed = pool.allocate(12 * kMiB);
  std::memset(live, 1, 4 * kMiB);
  std::memset(freed, 1, 12 * kMiB);
  pool.deallocate(freed);
  CHECK(pool.resident_bytes() == 16 * kMiB);
  pool.make_room(8 * kMiB);
  CHECK(pool.resident_bytes() == 8 * kMiB);
  pool.make_room(14 * kMiB);
  CHECK(pool.resident_bytes() == 4 * kMiB);
  CHECK(pool.live_bytes() == 4 * kMiB);
  pool.deallocate(live);
}

TEST_CASE("resident bytes are the pages that were touched and not handed back") {
  const int64_t reservations = LimitedPool::reservations();
  LimitedPool pool(32 * kMiB);
  CHECK(LimitedPool::reservations() == reservations + 1);
  CHECK(pool.resident_bytes() == 0);
  auto* memory = static_cast<char*>(pool.allocate(8 * kMiB));
  std::fill_n(memory, 2 * kMiB, '\1');
  const int64_t touched = pool.resident_bytes();
  CHECK(touched >= 2 * kMiB);
  CHECK(touched <= 4 * kMiB);  // a huge page, at the most
  pool.deallocate(memory);
  CHECK(pool.resident_bytes() == touched);
  pool.hold_resident(0);
  pool.deallocate(pool.allocate(32 * kMiB));  // all that is warm goes before it
  CHECK(pool.resident_bytes() == 0);
  CHECK(pool.peak_bytes() == 32 * kMiB);
  pool.restart_peak();
  CHECK(pool.peak_bytes() == 0);
  CHECK(LimitedPool::reservations() == reservations + 1);
}

}  // namespace
}  // namespace headroom
