#include "decoder/gpu/calls/segments.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "decoder/gpu/calls/calls.h"
#include "decoder/schedule/gpu_layout.h"
#include "tests/support/random.h"

namespace headroom::gpu {
namespace {

TEST_CASE("blocks of threads that make moments are close to whole waves on all cards") {
  // Multiprocessors, and blocks that one of them holds: by 64 registers a thread, and by 35 KiB of shared
  // memory a block.
  struct Card {
    int64_t processors, blocks;
  };
  for (const Card card :
       {Card{108, 4}, {114, 4}, {128, 2}, {132, 4}, {142, 2}, {144, 2}, {148, 4}, {170, 2}}) {
    for (const int64_t channels : {128, 256, 512}) {
      CAPTURE(card.processors, channels);
      const int64_t blocks = moment_segments(1024, 1024, channels) * channels / kSliceChannels,
                    at_once = card.processors * card.blocks, waves = (blocks + at_once - 1) / at_once;
      CHECK(double(blocks) / double(waves * at_once) > 0.86);
    }
  }
  CHECK(moment_segments(1024, 1024, 128) == 3 * 4 * 132);
}

TEST_CASE("partial moments and counters fit the buffers that are planned for them") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{200}));
  test::Random random(seed);
  const int64_t groups = random.pick<int64_t>({1, 2, 8, 32}),
                channels = groups * random.integer(1, random.pick<int64_t>({4, 40, 400}));
  const auto length = [&] { return static_cast<int32_t>(random.integer(1, 3000)); };
  const Box region{{0, 1}, {0, length()}, {0, length()}};
  CAPTURE(seed, groups, channels, region.y.end, region.x.end);
  Graph graph;
  const TensorId latent = graph.add_latent(channels);
  graph.set_output(graph.norm("n", latent, graph.statistics("s", latent, groups, 1e-6), Activation::none));
  const auto bytes = static_cast<int64_t>(sizeof(Moments));
  CHECK(partial_moments(region, channels, groups) * bytes <= partial_bytes(graph));
  const Box large{{0, 1}, {0, 8192}, {0, 8192}};
  CHECK(on_boundary(partial_moments(large, channels, groups) * bytes) == partial_bytes(graph));
  CHECK(moment_counters(region, channels, groups, false) * 4 <= counter_bytes(graph));
  CHECK(on_boundary(moment_counters(large, channels, groups, true) * 4) == counter_bytes(graph));
}

}  // namespace
}  // namespace headroom::gpu
