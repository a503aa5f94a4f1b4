#include "decoder/gpu/placement/placement.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

#include "decoder/base/errors.h"
#include "decoder/gpu/placement/memory_requests.h"
#include "tests/decoder/gpu/placement/check_places.h"
#include "tests/support/random.h"
#include "tests/support/sanitized.h"

namespace headroom {
namespace {

/// Asks as a decode does: small tiles that come and go beside larger ones that stay longer.
MemoryRequests drawn_requests(test::Random& random, int64_t count, int64_t unit = kOffsetUnit) {
  MemoryRequests requests;
  std::vector<int64_t> held;
  for (int64_t i = 0; i < count; ++i) {
    while (!held.empty() && random.chance(0.5)) {
      const auto gone = held.begin() + random.integer(0, static_cast<int64_t>(held.size()) - 1);
      requests.hand_back(*gone);
      held.erase(gone);
    }
    const int64_t units = random.chance(0.2) ? random.integer(20, 200) : random.integer(1, 20);
    held.push_back(requests.ask(units * unit));
  }
  return requests;
}

void check(const MemoryRequests& requests, const Placement& placement) {
  const int64_t most = test::check_places(requests, placement);
  CHECK(placement.live_bytes == most);
  CHECK(placement.bytes >= most);
}

TEST_CASE(
    "no two requests that are live at once overlap, also where offsets have more than 32 bits of units") {
  for (uint64_t seed = 0; seed < 120; ++seed) {
    const int64_t unit = seed % 2 == 0 ? kOffsetUnit : kOffsetUnit << 27;
    CAPTURE(unit, seed);
    test::Random random(seed);
    const MemoryRequests requests = drawn_requests(random, random.integer(1, 150), unit);
    check(requests, find_placement(requests));
  }
}

/// Bands of tiles; blocks that stay come and go at any time.
MemoryRequests drawn_sweep(test::Random& random, int bands, int tiles_of_band, bool alike) {
  MemoryRequests requests;
  std::vector<int64_t> blocks;
  std::vector<int64_t> sizes;
  for (int band = 0; band < bands; ++band) {
    blocks.push_back(requests.ask(random.integer(1, 9) * kOffsetUnit));
    for (int tile = 0; tile < tiles_of_band; ++tile) {
      if (tile == 0 || !alike) sizes = {random.integer(1, 50), random.integer(1, 50), random.integer(1, 50)};
      requests.begin_scope();
      if (random.chance(0.1)) blocks.push_back(requests.ask(random.integer(1, 30) * kOffsetUnit));
      std::vector<int64_t> tiles;
      for (const int64_t units : sizes) tiles.push_back(requests.ask(units * kOffsetUnit));
      if (random.chance(0.1)) {
        requests.hand_back(blocks.back());
        blocks.pop_back();
        if (blocks.empty()) blocks.push_back(requests.ask(kOffsetUnit));
      }
      // Some tiles are held over into the next scope.
      for (const int64_t number : tiles) {
        if (random.chance(0.05)) {
          blocks.push_back(number);
        } else {
          requests.hand_back(number);
        }
      }
    }
  }
  return requests;
}

TEST_CASE("tiles that are alike share their offsets, whatever stays beside them") {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    test::Random random(seed);
    const MemoryRequests requests = drawn_sweep(random, 6, 20, seed % 2 == 0);
    check(requests, find_placement(requests));
  }
}

/// One band: a first column, in which blocks come that stay, and others of several chunks each, which hold
/// something from their first to their last. `repeats`: all after the second are marked as repeats of it;
/// otherwise they are left out.
MemoryRequests drawn_columns(test::Random& random, int columns, bool repeats) {
  MemoryRequests requests;
  const std::vector<int64_t> sizes{random.integer(1, 50), random.integer(1, 50), random.integer(1, 50)};
  const int64_t block = requests.ask(random.integer(1, 90) * kOffsetUnit);
  int64_t stays = -1, of = -1;
  for (int column = 0; column < columns; ++column) {
    if (column >= 2 && !repeats) break;
    if (column == 1) of = requests.count();
    if (column >= 2) requests.begin_repeat(of);
    const int64_t carried = requests.ask(sizes[0] * kOffsetUnit);
    for (int chunk = 0; chunk < 3; ++chunk) {
      requests.begin_scope();
      if (column == 0 && chunk == 0) stays = requests.ask(sizes[1] * kOffsetUnit);
      const int64_t first = requests.ask((sizes[1] + chunk) * kOffsetUnit);
      const int64_t second = requests.ask(sizes[2] * kOffsetUnit);
      requests.hand_back(first);
      requests.hand_back(second);
    }
    requests.hand_back(carried);
    if (column >= 2) requests.end_repeat();
  }
  requests.hand_back(block);
  requests.hand_back(stays);
  return requests;
}

TEST_CASE("what repeats an earlier column lies where that lies, and changes nothing") {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    test::Random random(seed), again(seed);
    const MemoryRequests all = drawn_columns(random, 8, true), once = drawn_columns(again, 8, false);
    REQUIRE(all.count() > 2 * once.count());
    const Placement placement = find_placement(all), of_once = find_placement(once);
    check(all, placement);
    CHECK(placement.bytes == of_once.bytes);
    CHECK(std::equal(of_once.offsets.begin(), of_once.offsets.end(), placement.offsets.begin()));
  }
}

TEST_CASE("a repeat that asks for something else is none") {
  for (const int64_t units : {1, 2}) {
    MemoryRequests requests;
    requests.hand_back(requests.ask(kOffsetUnit));
    requests.begin_repeat(0);
    requests.hand_back(requests.ask(units * kOffsetUnit));
    requests.end_repeat();
    if (units == 1) {
      CHECK(find_placement(requests).bytes == kOffsetUnit);
    } else {
      CHECK_THROWS_AS(find_placement(requests), std::logic_error);
    }
  }
}

TEST_CASE("very many requests are placed") {
  test::Random random(7);
  const MemoryRequests requests = drawn_sweep(random, 100, 250, false);
  REQUIRE(requests.count() > 70'000);
  check(requests, find_placement(requests));
  const MemoryRequests without_tiles = drawn_requests(random, 70'000);
  check(without_tiles, find_placement(without_tiles));
}

TEST_CASE("requests that can lie where others lie are not placed, and lie there") {
  int64_t all = 0, left = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    test::Random random(seed);
    const MemoryRequests requests = drawn_sweep(random, 6, 20, true);
    const Distinct distinct = distinct_of(requests);
    all += requests.count();
    left += distinct.requests.count();
    // However the ones that are left are placed, here one above the other as far as they are live together.
    Placement own{0, 0, {}, {}};
    const std::vector<Buffer> ranges = live_ranges_of(distinct.requests);
    for (size_t i = 0; i < ranges.size(); ++i) {
      int64_t offset = 0;
      for (size_t k = 0; k < i; ++k) {
        if (ranges[k].meets(ranges[i])) offset = std::max(offset, own.offsets[k] + ranges[k].bytes);
      }
      own.offsets.push_back(offset);
      own.bytes = std::max(own.bytes, offset + ranges[i].bytes);
    }
    Placement placement = find_placement(requests);  // for its count of live bytes
    placement.bytes = own.bytes;
    for (size_t i = 0; i < distinct.of.size(); ++i)
      placement.offsets[i] = own.offsets[static_cast<size_t>(distinct.of[i])];
    check(requests, placement);
  }
  CHECK(left < all / 2);
}

/// Requests of a decode in several passes. One request cannot be moved. Each pass writes blocks band by band,
/// frees the blocks that it has read, and makes tiles.
MemoryRequests drawn_passes(test::Random& random) {
  MemoryRequests requests;
  requests.begin_pass();
  const int64_t state = random.chance(0.7) ? requests.ask(random.integer(1, 4) * kOffsetUnit) : -1;
  const int64_t passes = random.integer(1, 6), bands = random.integer(1, 12);
  const bool drains = random.chance(0.8);
  std::vector<int64_t> read, written{requests.ask(5 * kOffsetUnit, {}, true)};
  for (int64_t pass = 0; pass < passes; ++pass) {
    requests.begin_pass();
    read.insert(read.end(), written.begin(), written.end());
    written.clear();
    const int64_t block = random.integer(6, 9) * kOffsetUnit;
    const std::vector<int64_t> tiles{random.integer(10, 40), random.integer(10, 40), random.integer(10, 40)};
    for (int64_t band = 0; band < bands; ++band) {
      requests.begin_scope();
      int64_t before = -1;
      for (const int64_t units : tiles) {
        const int64_t tile = requests.ask(units * kOffsetUnit);
        if (before >= 0) requests.hand_back(before);
        before = tile;
        if (units == tiles[1]) written.push_back(requests.ask(block, {}, true));
      }
      requests.hand_back(before);
      if (!drains || static_cast<int64_t>(read.size()) <= bands - band) continue;
      requests.hand_back(read.front());
      read.erase(read.begin());
    }
  }
  for (const int64_t number : read) requests.hand_back(number);
  for (const int64_t number : written) requests.hand_back(number);
  if (state >= 0) requests.hand_back(state);
  return requests;
}

TEST_CASE("nothing overlaps, moved or not, and whoever allows what a placement takes finds no larger one") {
  int64_t moves = 0;
  for (uint64_t seed = 0; seed < 60; seed += test::kSeedStep) {
    CAPTURE(seed);
    test::Random random(seed);
    const MemoryRequests requests =
        seed % 3 == 0 ? drawn_requests(random, random.integer(1, 400)) : drawn_passes(random);
    const int64_t live = most_live_bytes(requests, live_ranges_of(requests));
    const Placement tight = find_placement(requests);
    check(requests, tight);
    moves += std::ssize(tight.moves);
    for (int64_t enough = tight.bytes; enough < live + live / 50;
         enough += random.integer(1, live / 100 + 1)) {
      CAPTURE(enough);
      const Placement found = find_placement(requests, enough);
      check(requests, found);
      CHECK(found.bytes <= enough);
      CHECK(find_placement(requests, found.bytes).bytes <= found.bytes);
      const Placement again = find_placement(requests, enough);
      CHECK(again.offsets == found.offsets);
      CHECK(again.moves == found.moves);
    }
  }
  if (!test::kSanitized) CHECK(moves > 50);
}

TEST_CASE("a decode takes less where passes want blocks elsewhere") {
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
  const Placement placement = find_placement(requests, 80 * kOffsetUnit);
  check(requests, placement);
  CHECK(placement.bytes == 80 * kOffsetUnit);
}

TEST_CASE("a pass that drains what it reads while it writes has no gaps") {
  for (const int64_t tile_units : {20, 33, 47}) {
    CAPTURE(tile_units);
    MemoryRequests requests;
    requests.begin_pass();
    std::vector<int64_t> rows;
    for (int i = 0; i < 24; ++i) rows.push_back(requests.ask(8 * kOffsetUnit, {}, true));
    requests.begin_pass();
    for (const int64_t row : rows) {
      requests.begin_scope();
      const int64_t first = requests.ask(tile_units * kOffsetUnit);
      const int64_t second = requests.ask((tile_units + 3) * kOffsetUnit);
      requests.hand_back(first);
      requests.ask(8 * kOffsetUnit, {}, true);
      requests.hand_back(second);
      requests.hand_back(row);
    }
    const Placement placement = find_placement(requests);
    check(requests, placement);
    CHECK(placement.bytes == placement.live_bytes);
  }
}

TEST_CASE("nothing is moved where a request that cannot be moved outlives the pass in which it comes") {
  MemoryRequests requests;
  requests.begin_pass();
  const int64_t block = requests.ask(kOffsetUnit, {}, true);
  requests.begin_pass();
  const int64_t other = requests.ask(kOffsetUnit);
  requests.begin_pass();
  requests.hand_back(other);
  requests.hand_back(block);
  const Placement placement = find_placement(requests);
  check(requests, placement);
  CHECK(placement.moves.empty());
}

/// The fewest bytes that any placement takes: in the best one every request lies on the bottom or on another
/// one, so some order of lowest gaps finds it.
int64_t least_bytes(const MemoryRequests& requests) {
  const std::vector<Buffer> ranges = live_ranges_of(requests);
  std::vector<size_t> order(ranges.size());
  std::iota(order.begin(), order.end(), size_t{0});
  int64_t least = std::numeric_limits<int64_t>::max();
  do {
    std::vector<int64_t> offsets(ranges.size(), -1);
    int64_t bytes = 0;
    for (const size_t own : order) {
      std::map<int64_t, int64_t> taken;  // offset -> end, the last of those that begin there
      for (size_t other = 0; other < ranges.size(); ++other) {
        if (offsets[other] < 0 || !ranges[other].meets(ranges[own])) continue;
        int64_t& end = taken[offsets[other]];
        end = std::max(end, offsets[other] + ranges[other].bytes);
      }
      int64_t offset = 0;
      for (const auto& [begin, end] : taken) {
        if (begin - offset >= ranges[own].bytes) break;
        offset = std::max(offset, end);
      }
      offsets[own] = offset;
      bytes = std::max(bytes, offset + ranges[own].bytes);
    }
    least = std::min(least, bytes);
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}

TEST_CASE("of few requests the best placement is found") {
  for (uint64_t seed = 0; seed < 150; seed += test::kSeedStep) {
    CAPTURE(seed);
    test::Random random(seed);
    const MemoryRequests requests = drawn_requests(random, random.integer(2, 8));
    const int64_t least = least_bytes(requests);
    const Placement placement = find_placement(requests);
    check(requests, placement);
    CHECK(placement.bytes <= least + placement.live_bytes / 200);
  }
}

TEST_CASE("nothing is asked for: nothing is taken") {
  CHECK(find_placement({}).bytes == 0);
}

TEST_CASE("a decode that asks without end is stopped") {
  MemoryRequests requests;
  const auto ask_on = [&] {
    for (int64_t i = 0; i <= MemoryRequests::kMost; ++i) requests.hand_back(requests.ask(kOffsetUnit));
  };
  CHECK_THROWS_AS(ask_on(), InputError);
}

}  // namespace
}  // namespace headroom
