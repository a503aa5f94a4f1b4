#include "decoder/exchange/exchange.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "decoder/base/fnv_hash.h"
#include "tests/support/ranks_in_process.h"

namespace headroom::test {
namespace {

/// The message that each rank throws, or an empty one.
std::vector<std::string> refusals(const std::vector<std::vector<Agreed>>& things) {
  InProcessNetwork network(static_cast<int32_t>(things.size()), 7);
  std::vector<std::string> lines(things.size());
  std::vector<std::thread> ranks;
  for (size_t rank = 0; rank < things.size(); ++rank) {
    ranks.emplace_back([&, rank] {
      try {
        agree(network.of(static_cast<int32_t>(rank)), things[rank]);
      } catch (const ExchangeError& error) {
        lines[rank] = error.what();
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
  return lines;
}

using Lines = std::vector<std::string>;

TEST_CASE("ranks that were given the same agree") {
  const std::vector<Agreed> same = {{"plan", "0123", "a.json"}, {"latent", std::string(1000, 'x'), ""}};
  CHECK(refusals({same, same, same}) == Lines(3, ""));
  CHECK(refusals({same}) == Lines(1, ""));
  CHECK(refusals({{}, {}}) == Lines(2, ""));
}

TEST_CASE("all ranks say which has another, and what") {
  const std::vector<Agreed> first = {{"plan", "0123", "a.json"}, {"latent", "1", "a.npy"}};
  std::vector<Agreed> other = first;
  other[0] = {"plan", "0124", "b.json"};
  CHECK(refusals({first, first, other}) ==
        Lines(3, "rank 2 has another plan than rank 0: b.json rather than a.json"));
  other = first;
  other[1].value = "2";  // of the same name
  CHECK(refusals({first, other, other}) == Lines(3, "rank 1 has another latent than rank 0"));
  other[1].shown = std::string(500, 'n');
  CHECK(refusals({first, other})[0] ==
        "rank 1 has another latent than rank 0: " + std::string(120, 'n') + " rather than a.npy");
}

TEST_CASE("a file's name is not what is compared") {
  CHECK(refusals({{{"plan", "0123", "a.json"}}, {{"plan", "0123", "/other/a.json"}}}) == Lines(2, ""));
}

TEST_CASE("fingerprints differ where bytes do, in each of their halves, and go on from each other") {
  CHECK(fnv_hash("") == 14695981039346656037u);
  CHECK(fnv_hash("a") == 0xaf63dc4c8601ec8cu);  // as published with FNV-1a
  CHECK(fnv_hash("foobar") == 0x85944171f73967e8u);
  CHECK(fnv_hash("bar", fnv_hash("foo")) == fnv_hash("foobar"));
  std::set<uint64_t> all;
  for (int i = 0; i < 2000; ++i) all.insert(fnv_hash(std::to_string(i)));
  CHECK(all.size() == 2000);
}

}  // namespace
}  // namespace headroom::test
