#include "decoder/gpu/placement/buffers.h"

#include <catch2/catch.hpp>

#include "tests/support/random.h"

namespace headroom {
namespace {

/// Cuts a rectangle of `width` events and `bytes` into pieces that fill it, so that the whole of it is
/// enough.
void cut(test::Random& random, const Buffer& piece, int64_t count, std::vector<Buffer>& pieces) {
  const int64_t width = piece.end - piece.begin;
  if (count == 1 || (width < 2 && piece.bytes < 2)) return pieces.push_back(piece);
  const int64_t first = random.integer(1, count - 1);
  Buffer upper = piece, lower = piece;
  if (piece.bytes < 2 || (width > 1 && random.chance(0.5)))
    lower.end = upper.begin = piece.begin + random.integer(1, width - 1);
  else
    upper.bytes -= lower.bytes = random.integer(1, piece.bytes - 1);
  cut(random, lower, first, pieces);
  cut(random, upper, count - first, pieces);
}

void check(const std::vector<Buffer>& buffers, const std::vector<int64_t>& offsets, int64_t capacity) {
  REQUIRE(offsets.size() == buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    REQUIRE(offsets[i] >= 0);
    REQUIRE(offsets[i] + buffers[i].bytes <= capacity);
    for (size_t k = 0; k < i; ++k) {
      const bool apart =
          offsets[i] >= offsets[k] + buffers[k].bytes || offsets[k] >= offsets[i] + buffers[i].bytes;
      REQUIRE((!buffers[i].meets(buffers[k]) || apart));
    }
  }
}

TEST_CASE("buffers that can fill their memory without a gap are placed so, and alike each time") {
  constexpr int64_t kCapacity = 1'000'000, kVisits = 40'000'000;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    test::Random random(seed);
    std::vector<Buffer> buffers;
    cut(random, {0, 500, kCapacity}, random.integer(1, 60), buffers);
    CHECK(most_live_bytes(buffers) == kCapacity);
    const auto offsets = BufferPlacement(buffers).in(kCapacity, kVisits);
    CHECK(BufferPlacement(buffers).in(kCapacity, kVisits) == offsets);
    CHECK_FALSE(BufferPlacement(buffers).in(kCapacity - 1, 1000).has_value());
    BufferPlacement again(buffers);
    for (const int64_t capacity : {kCapacity, 2 * kCapacity, kCapacity + kCapacity / 20, kCapacity}) {
      const int64_t few = 100'000;
      CHECK(again.in(capacity, few) == BufferPlacement(buffers).in(capacity, few));
    }
    REQUIRE(offsets.has_value());
    check(buffers, *offsets, kCapacity);
  }
}

}  // namespace
}  // namespace headroom
