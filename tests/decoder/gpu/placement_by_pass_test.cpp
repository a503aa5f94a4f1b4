#include "decoder/gpu/placement_by_pass.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <vector>

#include "decoder/gpu/live_range.h"
#include "tests/decoder/gpu/check_places.h"
#include "tests/support/random.h"

namespace headroom {
namespace {

/// What a decode of several passes asks for: something that cannot be moved, then passes that write blocks
/// band by band, hand back those that they have read, and make tiles of their own.
struct DrawnPasses {
  bool state = true, drains = true;
  int64_t passes = 4, bands = 6;
};

MemoryRequests drawn_passes(test::Random& random, const DrawnPasses& drawn) {
  MemoryRequests requests;
  requests.begin_pass();
  const int64_t state = drawn.state ? requests.ask(random.integer(1, 4) * kOffsetUnit) : -1;
  std::vector<int64_t> read, written{requests.ask(5 * kOffsetUnit, {}, true)};
  for (int64_t pass = 0; pass < drawn.passes; ++pass) {
    requests.begin_pass();
    read.insert(read.end(), written.begin(), written.end());
    written.clear();
    const int64_t block = random.integer(6, 9) * kOffsetUnit;
    const std::vector<int64_t> tiles{random.integer(10, 40), random.integer(10, 40), random.integer(10, 40)};
    for (int64_t band = 0; band < drawn.bands; ++band) {
      requests.begin_scope();
      int64_t before = -1;
      for (const int64_t units : tiles) {
        const int64_t tile = requests.ask(units * kOffsetUnit);
        if (before >= 0) requests.hand_back(before);
        before = tile;
        if (units == tiles[1]) written.push_back(requests.ask(block, {}, true));
      }
      requests.hand_back(before);
      if (!drawn.drains || static_cast<int64_t>(read.size()) <= drawn.bands - band) continue;
      requests.hand_back(read.front());
      read.erase(read.begin());
    }
  }
  for (const int64_t number : read) requests.hand_back(number);
  for (const int64_t number : written) requests.hand_back(number);
  if (state >= 0) requests.hand_back(state);
  return requests;
}

int64_t most_live(const MemoryRequests& requests) {
  return most_live_bytes(requests, live_ranges_of(requests));
}

constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

TEST_CASE("by pass nothing overlaps either, moved or not, and what is found is found again") {
  int64_t moves = 0, found = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    test::Random random(seed);
    const MemoryRequests requests = drawn_passes(
        random, {random.chance(0.7), random.chance(0.8), random.integer(1, 6), random.integer(1, 12)});
    const int64_t live = most_live(requests);
    const Placement placement = find_placement(requests, live + live * random.integer(0, 30) / 1000);
    test::check_places(requests, placement);
    CHECK(placement.live_bytes == live);
    const Placement again = find_placement(requests, placement.bytes);
    CHECK(again.bytes <= placement.bytes);
    CHECK(find_placement(requests, again.bytes).moves == again.moves);
    const auto by_pass = place_by_pass(requests, live, kNone);
    if (!by_pass) continue;
    test::check_places(requests, *by_pass);
    ++found;
    moves += std::ssize(by_pass->moves);
  }
  CHECK(found > 150);
  CHECK(moves > 200);
}

TEST_CASE("by pass a decode takes less where passes want blocks elsewhere") {
  // A tile over a long block leaves no room for a larger one later, unless the block is moved.
  MemoryRequests requests;
  requests.begin_pass();
  requests.begin_scope();
  const int64_t tile = requests.ask(30 * kOffsetUnit), below = requests.ask(10 * kOffsetUnit, {}, true);
  const int64_t over = requests.ask(30 * kOffsetUnit), above = requests.ask(10 * kOffsetUnit, {}, true);
  requests.hand_back(tile);
  requests.hand_back(over);
  requests.begin_pass();
  requests.hand_back(below);
  requests.begin_scope();
  const int64_t large = requests.ask(70 * kOffsetUnit);
  requests.hand_back(large);
  requests.hand_back(above);
  const auto placement = place_by_pass(requests, 80 * kOffsetUnit, kNone);
  REQUIRE(placement.has_value());
  test::check_places(requests, *placement);
  CHECK(placement->bytes == 80 * kOffsetUnit);
}

TEST_CASE("what drains while it writes has no gaps, since what is free moves along") {
  for (const int64_t tile_units : {20, 33, 47}) {
    CAPTURE(tile_units);
    MemoryRequests requests;
    requests.begin_pass();
    std::vector<int64_t> rows;
    for (int i = 0; i < 24; ++i) rows.push_back(requests.ask(8 * kOffsetUnit, {}, true));
    requests.begin_pass();
    std::vector<int64_t> written;
    for (size_t band = 0; band < rows.size(); ++band) {
      requests.begin_scope();
      const int64_t first = requests.ask(tile_units * kOffsetUnit);
      const int64_t second = requests.ask((tile_units + 3) * kOffsetUnit);
      requests.hand_back(first);
      written.push_back(requests.ask(8 * kOffsetUnit, {}, true));
      requests.hand_back(second);
      requests.hand_back(rows[band]);
    }
    const auto placement = place_by_pass(requests, most_live(requests), kNone);
    REQUIRE(placement.has_value());
    test::check_places(requests, *placement);
    CHECK(placement->bytes == most_live(requests));
  }
}

TEST_CASE("what cannot be moved and outlives the pass in which it comes is not placed by pass") {
  MemoryRequests requests;
  requests.begin_pass();
  const int64_t block = requests.ask(kOffsetUnit, {}, true);
  requests.begin_pass();
  const int64_t other = requests.ask(kOffsetUnit);
  requests.begin_pass();
  requests.hand_back(other);
  requests.hand_back(block);
  CHECK_FALSE(place_by_pass(requests, kNone, kNone).has_value());
  test::check_places(requests, find_placement(requests));
}

}  // namespace
}  // namespace headroom
