#include "decoder/exchange/silence.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace headroom {
namespace {

/// Ranks that live, of which only some get on, as time goes by second by second.
struct Group {
  std::vector<RankState> states;
  double now = 100;

  explicit Group(std::vector<int32_t> waits_for) {
    for (const int32_t rank : waits_for) states.push_back({1, 1, rank, false});
  }
  void second(const std::vector<size_t>& alive, const std::vector<size_t>& working) {
    now += 1;
    for (const size_t rank : alive) ++states[rank].beat;
    for (const size_t rank : working) ++states[rank].work;
  }
};

/// The second in which it gives up, and its line; 0 where it has not after 100.
std::pair<int, std::string> gives_up(Group group, Silence silence, const std::vector<size_t>& alive,
                                     const std::vector<size_t>& working) {
  for (int second = 1; second <= 100; ++second) {
    group.second(alive, working);
    if (const auto line = silence.verdict(group.states, group.now)) return {second, *line};
  }
  return {0, ""};
}

TEST_CASE("a rank that works is waited for, and so is one that waits for it") {
  const Group group({1, 2, -1});
  CHECK(gives_up(group, Silence(0, 1, 100, 5), {0, 1, 2}, {2}).first == 0);
  CHECK(gives_up(group, Silence(0, 2, 100, 5), {0, 1, 2}, {2}).first == 0);
}

TEST_CASE("the rank that stands still is named by all who wait in its chain") {
  const Group group({1, 2, -1});
  const std::pair<int, std::string> expected = {6, "rank 2 has shown no sign of work for 5 s"};
  CHECK(gives_up(group, Silence(0, 1, 100, 5), {0, 1, 2}, {}) == expected);
  CHECK(gives_up(group, Silence(1, 2, 100, 5), {0, 1, 2}, {}) == expected);
}

TEST_CASE("a process that no longer runs is named, whomever it waited for") {
  const std::pair<int, std::string> expected = {6, "rank 1 has shown no sign of life for 5 s"};
  CHECK(gives_up(Group({1, 2, -1}), Silence(0, 1, 100, 5), {0, 2}, {2}) == expected);
  CHECK(gives_up(Group({1, 0, -1}), Silence(0, 1, 100, 5), {0, 2}, {2}) == expected);
}

TEST_CASE("a process that ends some time after its last work is said to be without life") {
  Group group({1, -1});
  Silence silence(0, 1, 100, 5);
  for (int second = 1; second <= 7; ++second) {
    if (second <= 2)
      group.second({0, 1}, second == 1 ? std::vector<size_t>{1} : std::vector<size_t>{});
    else
      group.second({0}, {});
    CHECK(!silence.verdict(group.states, group.now));
  }
  group.second({0}, {});
  CHECK(silence.verdict(group.states, group.now) == "rank 1 has shown no sign of life for 5 s");
}

TEST_CASE("ranks that wait for each other are not waited for") {
  CHECK(gives_up(Group({1, 2, 1}), Silence(0, 1, 100, 5), {0, 1, 2}, {0}) ==
        std::pair<int, std::string>{6, "rank 1 has shown no sign of work for 5 s"});
  CHECK(gives_up(Group({1, 0}), Silence(0, 1, 100, 5), {0, 1}, {0}).first == 6);
}

TEST_CASE("a rank that says it waits for one that there is not stands still by itself") {
  CHECK(gives_up(Group({1, 99, -1}), Silence(0, 1, 100, 5), {0, 1, 2}, {}) ==
        std::pair<int, std::string>{6, "rank 1 has shown no sign of work for 5 s"});
}

TEST_CASE("to turn to another rank is work") {
  Group group({1, -1});
  Silence silence(0, 1, 100, 5);
  for (int second = 1; second <= 30; ++second) {
    group.second({0, 1}, {});
    group.states[1].waits_for = second / 4 % 2 == 0 ? -1 : 0;
    CHECK(!silence.verdict(group.states, group.now));
  }
}

TEST_CASE("states come back from their text") {
  const RankState state = state_of(state_text({12345678901, 7, -1, true}));
  CHECK(state.beat == 12345678901);
  CHECK(state.work == 7);
  CHECK(state.waits_for == -1);
  CHECK(state.left);
  CHECK(state_of("").beat == 0);
  CHECK(state_of("1 2").beat == 0);
  CHECK(state_of("x y z w").waits_for == -1);
}

}  // namespace
}  // namespace headroom
