#include "decoder/gpu/weights_ahead.h"

#include <catch2/catch.hpp>

namespace headroom {
namespace {

/// Two passes. Offsets are by request: weights and a tile of the first pass, a block that stays for the
/// second, weights of that.
DryRun two_passes(const std::vector<int64_t>& offsets) {
  DryRun dry_run;
  MemoryRequests& requests = dry_run.requests;
  dry_run.passes.push_back(requests.events().size());
  const int64_t first = requests.ask(100);
  const int64_t block = requests.ask(100, {}, true);
  const int64_t tile = requests.ask(100);
  requests.hand_back(tile);
  requests.hand_back(first);
  dry_run.passes.push_back(requests.events().size());
  const int64_t second = requests.ask(100);
  requests.hand_back(block);
  requests.hand_back(second);
  dry_run.placement.offsets = offsets;
  return dry_run;
}

size_t event_of_second(const DryRun& dry_run) {
  const std::vector<WeightsAhead> ahead = weights_ahead(dry_run);
  CHECK(ahead.size() == 2);
  CHECK(ahead[1].offset == dry_run.placement.offsets[3]);
  return ahead[1].event;
}

TEST_CASE("weights of a pass come ahead once nothing lies in their place") {
  const size_t begin = two_passes({}).passes[1];
  CHECK(event_of_second(two_passes({0, 100, 200, 300})) == 1);     // right after the first pass's
  CHECK(event_of_second(two_passes({0, 100, 200, 250})) == 4);     // after the tile
  CHECK(event_of_second(two_passes({0, 100, 200, 50})) == begin);  // after the first pass's weights
  CHECK(event_of_second(two_passes({0, 100, 200, -50})) == begin);
}

TEST_CASE("weights do not come ahead where blocks are moved away or put aside") {
  const int64_t begin = 5;
  DryRun moved = two_passes({0, 100, 200, 100});
  moved.placement.moves = {{begin, 1, 100, 100, 300}};
  CHECK(event_of_second(moved) == begin);
  DryRun elsewhere = two_passes({0, 100, 200, 400});
  elsewhere.placement.moves = {{begin, 1, 100, 100, 300}};
  CHECK(event_of_second(elsewhere) == 1);
  DryRun aside = two_passes({0, 100, 200, 400});
  aside.placement.moves = {{begin, 1, 100, 100, 450}, {begin, 1, 100, 450, 50}};
  CHECK(event_of_second(aside) == begin);
}

}  // namespace
}  // namespace headroom
