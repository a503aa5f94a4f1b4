#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <vector>

#include "decoder/gpu/placement/placement.h"

namespace headroom::test {

/// Goes through the events and the moves with a map of what is live: an own account of what a placement
/// promises. Returns the most that is live at one time.
inline int64_t check_places(const MemoryRequests& requests, const Placement& placement) {
  std::map<int64_t, int64_t> live, places, sizes;  // offset -> end; request -> offset; request -> bytes
  std::vector<bool> movable(static_cast<size_t>(requests.count()), false);
  const auto put = [&](int64_t number, int64_t offset) {
    const int64_t end = offset + sizes.at(number);
    REQUIRE(offset >= 0);
    REQUIRE(offset % kOffsetUnit == 0);
    REQUIRE(end <= placement.bytes);
    const auto after = live.lower_bound(offset);
    REQUIRE((after == live.end() || after->first >= end));
    REQUIRE((after == live.begin() || std::prev(after)->second <= offset));
    live[offset] = end;
    places[number] = offset;
  };
  size_t move = 0;
  int64_t bytes = 0, most = 0;
  for (size_t i = 0; i < requests.events().size(); ++i) {
    for (; move < placement.moves.size() && placement.moves[move].event == i; ++move) {
      const Move& moved = placement.moves[move];
      REQUIRE(std::count(requests.passes().begin(), requests.passes().end(), i) == 1);
      REQUIRE(movable[static_cast<size_t>(moved.number)]);
      REQUIRE(places.at(moved.number) == moved.from);
      REQUIRE(sizes.at(moved.number) == moved.bytes);
      put(moved.number, moved.to);  // both are there while it is copied
      REQUIRE(live.erase(moved.from) == 1);
    }
    const MemoryRequests::Event& event = requests.events()[i];
    if (event.bytes > 0) {
      sizes[event.number] = event.bytes;
      movable[static_cast<size_t>(event.number)] = event.movable;
      put(event.number, placement.offsets[static_cast<size_t>(event.number)]);
      most = std::max(most, bytes += event.bytes);
    } else {
      REQUIRE(live.erase(places.at(event.number)) == 1);
      bytes -= sizes.at(event.number);
    }
  }
  CHECK(move == placement.moves.size());
  return most;
}

}  // namespace headroom::test
