#include "decoder/gpu/placement/placement.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <numeric>
#include <vector>

#include "tests/support/random.h"

namespace headroom {
namespace {

/// Blocks at drawn places of [0, end), and other places for all of them.
std::vector<StandingBlock> drawn_blocks(test::Random& random, int64_t count, int64_t spare) {
  std::vector<StandingBlock> blocks;
  for (int64_t i = 0; i < count; ++i)
    blocks.push_back({i, random.chance(0.3) ? random.integer(1, 6) : 4, 0, 0});
  // One behind the other in a drawn order, with what is spare drawn in between.
  const auto lay = [&](int64_t StandingBlock::*place) {
    std::vector<size_t> order(blocks.size());
    std::iota(order.begin(), order.end(), size_t{0});
    for (size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[static_cast<size_t>(random.integer(0, static_cast<int64_t>(i) - 1))]);
    int64_t at = 0, left = spare;
    for (const size_t i : order) {
      const int64_t gap = random.chance(0.3) ? random.integer(0, left) : 0;
      left -= gap;
      blocks[i].*place = at + gap;
      at += gap + blocks[i].bytes;
    }
  };
  lay(&StandingBlock::from);
  lay(&StandingBlock::to);
  return blocks;
}

/// Contents of memory by unit: the block's number and the unit's index in it; -1 if free.
using Memory = std::vector<std::pair<int64_t, int64_t>>;

Memory memory_of(const std::vector<StandingBlock>& blocks, int64_t StandingBlock::*place, int64_t units) {
  Memory memory(static_cast<size_t>(units), {-1, 0});
  for (const StandingBlock& block : blocks) {
    for (int64_t i = 0; i < block.bytes; ++i)
      memory[static_cast<size_t>(block.*place + i)] = {block.number, i};
  }
  return memory;
}

TEST_CASE("moves bring every block to its place, over nothing that is still needed") {
  int possible = 0, moves = 0, copies = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    test::Random random(seed);
    const int64_t spare = random.integer(0, 48);
    const std::vector<StandingBlock> blocks = drawn_blocks(random, random.integer(1, 40), spare);
    const int64_t units = std::accumulate(blocks.begin(), blocks.end(), spare,
                                          [](int64_t sum, const StandingBlock& b) { return sum + b.bytes; });
    const auto found = moves_of(blocks, 7, 0, units);
    if (!found) continue;
    ++possible;
    Memory one_by_one = memory_of(blocks, &StandingBlock::from, units);
    std::map<int64_t, int64_t> places;
    for (const StandingBlock& block : blocks) places[block.number] = block.from;
    for (const Move& move : *found) {
      REQUIRE(move.event == 7);
      REQUIRE(places.at(move.number) == move.from);
      REQUIRE(move.to >= 0);
      REQUIRE(move.to + move.bytes <= units);
      for (int64_t i = 0; i < move.bytes; ++i) {
        auto& target = one_by_one[static_cast<size_t>(move.to + i)];
        REQUIRE(target.first == -1);
        target = {move.number, i};
      }
      for (int64_t i = 0; i < move.bytes; ++i) one_by_one[static_cast<size_t>(move.from + i)] = {-1, 0};
      places[move.number] = move.to;
    }
    const Memory wanted = memory_of(blocks, &StandingBlock::to, units);
    CHECK(one_by_one == wanted);
    // Copies leave behind what they have read.
    Memory together = memory_of(blocks, &StandingBlock::from, units);
    for (const Copy& copy : copies_of(*found)) {
      REQUIRE(std::abs(copy.to - copy.from) >= copy.bytes);
      std::copy_n(together.begin() + copy.from, copy.bytes, together.begin() + copy.to);
      ++copies;
    }
    moves += static_cast<int>(found->size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i].first >= 0) REQUIRE(together[i] == wanted[i]);
    }
  }
  CHECK(possible > 200);
  CHECK(copies < moves);
}

TEST_CASE("a block that lies where it is to lie is not moved") {
  const auto moves = moves_of({{0, 4, 0, 0}, {1, 4, 4, 8}, {2, 4, 12, 4}}, 0, 0, 16);
  REQUIRE(moves.has_value());
  CHECK(*moves == std::vector<Move>{{0, 1, 4, 4, 8}, {0, 2, 4, 12, 4}});
}

TEST_CASE("blocks that change places do so by way of what is free, and not at all where nothing is") {
  const std::vector<StandingBlock> blocks{{0, 4, 0, 4}, {1, 4, 4, 0}};
  CHECK_FALSE(moves_of(blocks, 0, 0, 8).has_value());
  CHECK_FALSE(moves_of(blocks, 0, 0, 11).has_value());
  const auto moves = moves_of(blocks, 0, 0, 12);
  REQUIRE(moves.has_value());
  CHECK(moves->size() == 3);
}

}  // namespace
}  // namespace headroom
