#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/spawned_ranks.h"

namespace headroom::test {
namespace {

using Catch::Matchers::Contains;
using Words = std::vector<std::string>;

Words probe(const std::string& seconds, const Words& more) {
  Words words{HEADROOM_EXCHANGE_PROBE, seconds};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// Requires that every rank but `but` ends with exit code 5, and with one line after "runs".
void require_line(SpawnedRanks& ranks, size_t but, const std::string& line) {
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (rank == but) continue;
    ranks.await(rank);
    CAPTURE(rank);
    CHECK(ranks[rank].written() == "runs\nprobe: " + line + "\n");
    CHECK(ranks[rank].code() == 5);
  }
}

TEST_CASE("messages of several spans arrive between all ranks, in order, and what was sent is counted") {
  const int count = GENERATE(1, 2, 3, 4);
  SpawnedRanks ranks(probe("20", {"messages"}), count);
  ranks.await_all();
  std::string gathered = "gathered:";
  for (int rank = 0; rank < count; ++rank) {
    std::ostringstream values;
    values << ' ' << rank + 0.25 << ' ' << 1.0 / (rank + 3);
    gathered += values.str();
  }
  const int64_t sent = (count - 1) * (3 * (7 + 40'000 + 3'000'000 + 1) + 2 * 8);
  for (int rank = 0; rank < count; ++rank) {
    CHECK(ranks[static_cast<size_t>(rank)].written() ==
          "wrong bytes: 0\n" + gathered + "\nsent bytes: " + std::to_string(sent) + "\ndone\n");
    CHECK(ranks[static_cast<size_t>(rank)].code() == 0);
  }
}

TEST_CASE("where a rank is killed all others say so and end") {
  const size_t killed = GENERATE(0, 2);
  SpawnedRanks ranks(probe("20", {"kill", std::to_string(killed)}), 4);
  ranks.await(killed);
  for (size_t rank = 0; rank < 4; ++rank) {
    if (rank == killed) continue;
    ranks.await(rank);
    CHECK_THAT(ranks[rank].written(),
               Catch::StartsWith("runs\nprobe: rank " + std::to_string(killed) + " has ended"));
    CHECK(ranks[rank].code() == 5);
  }
}

TEST_CASE("where a rank gives up all others say why") {
  const size_t gives_up = GENERATE(0, 1);
  SpawnedRanks ranks(probe("20", {"abandon", std::to_string(gives_up)}), 3);
  ranks.await(gives_up);
  CHECK(ranks[gives_up].written() == "runs\nprobe: no memory left\n");
  require_line(ranks, gives_up, "rank " + std::to_string(gives_up) + " ended: no memory left");
}

TEST_CASE("a rank that hangs is named by all when the timeout has passed") {
  SpawnedRanks ranks(probe("2", {"idle", "2"}), 4);
  require_line(ranks, 2, "rank 2 has shown no sign of work for 2 s");
}

TEST_CASE("a process that was stopped is named by all, also the one that keeps the store") {
  const size_t stopped = GENERATE(0, 1);
  SpawnedRanks ranks(probe("2", {"endless"}), 3);
  for (int i = 0; i < 600 && ranks[stopped].written().empty(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  ranks[stopped].signal(SIGSTOP);
  require_line(ranks, stopped, "rank " + std::to_string(stopped) + " has shown no sign of life for 2 s");
}

TEST_CASE("a rank that computes for longer than the timeout is waited for") {
  // slow: the rank reports between its steps. busy: it is in a long step.
  const std::string how = GENERATE("slow", "busy");
  SpawnedRanks ranks(probe("2", {how, "1"}), 3);
  ranks.await_all();
  for (size_t rank = 0; rank < 3; ++rank) CHECK(ranks[rank].written() == "runs\ndone\n");
}

TEST_CASE("ranks that do not come are named") {
  SpawnedRanks ranks(probe("1", {"rounds"}), 4, {0, 2});
  ranks.await_all();
  CHECK(ranks[0].written() == "probe: ranks 1 and 3 of 4 did not come within 1 s\n");
  CHECK_THAT(ranks[1].written(), Catch::StartsWith("probe: ranks 1 and 3 of 4 did not come within 1 s") ||
                                     Contains("cannot reach rank 0"));
}

TEST_CASE("without rank 0 nobody meets") {
  SpawnedRanks ranks(probe("1", {"rounds"}), 2, {1});
  ranks.await_all();
  CHECK_THAT(ranks[0].written(), Catch::StartsWith("probe: cannot reach rank 0 at 127.0.0.1:"));
  CHECK(ranks[0].code() == 5);
}

TEST_CASE("without a GPU the exchange between GPUs says so") {
  SpawnedRanks ranks(probe("20", {"nccl"}), 2);
  ranks.await_all();
  if (ranks[0].code() == 0) return;  // there is one
  for (size_t rank = 0; rank < 2; ++rank) {
    const std::string written = ranks[rank].written();
    CHECK_THAT(written, Contains("cannot connect to the others") || Contains("built without NCCL"));
    CHECK(std::count(written.begin(), written.end(), '\n') == 1);
    CHECK(ranks[rank].code() == 5);
  }
}

/// Two machines, as network namespaces with a cable between them.
class TwoNodes {
 public:
  TwoNodes() {
    made_ = run("ip netns add " + node(0)) && run("ip netns add " + node(1)) &&
            run("ip link add cable0 netns " + node(0) + " type veth peer name cable1 netns " + node(1));
    for (int i = 0; i < 2 && made_; ++i) {
      const std::string in = "ip -n " + node(i) + " ", cable = "cable" + std::to_string(i);
      made_ = run(in + "addr add " + address(i) + "/24 dev " + cable) &&
              run(in + "link set " + cable + " up") && run(in + "link set lo up");
    }
  }
  ~TwoNodes() {
    for (int i = 0; i < 2; ++i) run("ip netns delete " + node(i));
  }
  bool made() const { return made_; }
  void cut() const { REQUIRE(run("ip -n " + node(0) + " link set cable0 down")); }

  /// Four ranks, two on each.
  void start(SpawnedRanks& ranks, const Words& words) const {
    for (int rank = 0; rank < 4; ++rank) {
      Words all{"ip", "netns", "exec", node(rank / 2)};
      all.insert(all.end(), words.begin(), words.end());
      ranks.add(std::make_unique<Spawned>(all, rank_variables(rank, 4, 29500, address(0))));
    }
  }

 private:
  static std::string node(int i) { return "headroom-" + std::to_string(getpid()) + "-" + std::to_string(i); }
  static std::string address(int i) { return "10.77.0." + std::to_string(i + 1); }
  static bool run(const std::string& line) { return std::system((line + " >/dev/null 2>&1").c_str()) == 0; }
  bool made_ = false;
};

TEST_CASE("ranks of two machines meet, and a cut cable ends them") {
  const TwoNodes nodes;
  if (!nodes.made()) {
    WARN("skipped: network namespaces need ip(8) and root");
    return;
  }
  {
    SpawnedRanks ranks;
    nodes.start(ranks, probe("20", {"messages"}));
    ranks.await_all();
    for (size_t rank = 0; rank < 4; ++rank) {
      CHECK_THAT(ranks[rank].written(), Catch::StartsWith("wrong bytes: 0\n") && Catch::EndsWith("done\n"));
    }
  }
  SpawnedRanks ranks;
  nodes.start(ranks, probe("3", {"endless"}));
  for (size_t rank = 0; rank < 4; ++rank) {
    for (int i = 0; i < 1200 && ranks[rank].written().empty(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  nodes.cut();
  ranks.await_all();
  for (size_t rank = 0; rank < 4; ++rank) {
    const std::string of_the_other_side = rank < 2 ? "rank [23]" : "rank 0";
    CHECK_THAT(ranks[rank].written(),
               Catch::Matches("runs\nprobe: " + of_the_other_side + " has shown no sign of life for 3 s\n"));
    CHECK(ranks[rank].code() == 5);
  }
}

TEST_CASE("ranks that were given other things say which") {
  SpawnedRanks ranks(probe("20", {"agree", "a", "a", "b"}), 3);
  ranks.await_all();
  for (size_t rank = 0; rank < 3; ++rank)
    CHECK(ranks[rank].written() == "probe: rank 2 has another plan than rank 0: b.json rather than a.json\n");
}

}  // namespace
}  // namespace headroom::test
