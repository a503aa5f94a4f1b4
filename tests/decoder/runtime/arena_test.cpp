#include "decoder/runtime/arena.h"

#include <catch2/catch.hpp>
#include <map>
#include <vector>

#include "tests/support/random.h"

namespace headroom {
namespace {

TEST_CASE("places of an arena never overlap, and all of it comes back") {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    test::Random random(seed);
    Arena arena(random.integer(1, 400) * Arena::kUnit);
    std::map<int64_t, int64_t> held;
    for (int i = 0; i < 300; ++i) {
      if (!held.empty() && random.chance(0.45)) {
        const auto gone = std::next(held.begin(), random.integer(0, static_cast<int64_t>(held.size()) - 1));
        arena.free(gone->first);
        held.erase(gone);
        continue;
      }
      const int64_t bytes = random.integer(1, 40 * Arena::kUnit);
      const int64_t offset = arena.allocate(bytes, random.chance(0.5) ? Arena::End::low : Arena::End::high);
      if (offset < 0) continue;
      REQUIRE(offset % Arena::kUnit == 0);
      REQUIRE(offset + bytes <= arena.bytes());
      const auto after = held.lower_bound(offset);
      REQUIRE((after == held.end() || offset + bytes <= after->first));
      if (after != held.begin()) REQUIRE(std::prev(after)->first + std::prev(after)->second <= offset);
      held[offset] = bytes;
    }
    for (const auto& [offset, bytes] : held) arena.free(offset);
    CHECK(arena.live_bytes() == 0);
    CHECK(arena.allocate(arena.bytes(), Arena::End::low) == 0);
  }
}

TEST_CASE("what comes and goes and what stays do not break each other's ground up") {
  // Blocks that stay come while a tile is there; the next, larger tile finds the ground that the first left.
  Arena arena(100 * Arena::kUnit);
  const int64_t tile = arena.allocate(30 * Arena::kUnit, Arena::End::low);
  for (int i = 0; i < 4; ++i) REQUIRE(arena.allocate(10 * Arena::kUnit, Arena::End::high) >= 0);
  arena.free(tile);
  CHECK(arena.allocate(60 * Arena::kUnit, Arena::End::low) == 0);
  CHECK(arena.peak_bytes() == 100 * Arena::kUnit);
}

}  // namespace
}  // namespace headroom
