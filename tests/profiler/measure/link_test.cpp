#include "profiler/measure/link.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <thread>
#include <vector>

#include "tests/support/ranks_in_process.h"

namespace headroom::profiler {
namespace {

TEST_CASE("the link between ranks is the same for all of them, and what every message waits for is in it") {
  for (const int32_t ranks : {2, 3, 5}) {
    CAPTURE(ranks);
    test::InProcessNetwork network(ranks, 7, std::chrono::microseconds(50));
    std::vector<Link> links(static_cast<size_t>(ranks));
    std::vector<std::thread> threads;
    for (int32_t rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] { links[static_cast<size_t>(rank)] = measure_link(network.of(rank)); });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Link& link : links) {
      CHECK(link == links[0]);
      CHECK(link.seconds > 0);
      CHECK(std::isfinite(link.bytes_per_second));
      CHECK(link.bytes_per_second > 0);
    }
  }
}

}  // namespace
}  // namespace headroom::profiler
