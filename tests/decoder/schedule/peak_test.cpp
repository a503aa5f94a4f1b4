#include "decoder/schedule/peak.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "decoder/schedule/storage.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_model.h"
#include "tests/support/tiny_video.h"

namespace headroom {
namespace {

using test::Random;

int64_t sum_of(const std::vector<PassSweep::LiveTensor>& tensors) {
  int64_t sum = 0;
  for (const PassSweep::LiveTensor& tensor : tensors) sum += tensor.bytes;
  return sum;
}

/// Evaluates every moment of a pass separately.
struct AllMoments {
  int64_t highest_bytes = 0;
  bool carries = false;
};
AllMoments look_at_all(const PassSweep& sweep, const Pass& pass) {
  AllMoments moments;
  const size_t tiles = pass.tiles.x.size() * pass.tiles.t.size();
  for (size_t band = 0; band < pass.tiles.y.size(); ++band) {
    for (size_t step = 0; step < pass.steps.size(); ++step) {
      for (const bool later : {false, true}) {
        if (later && tiles == 1) continue;
        const SweepPoint point{band, step, later};
        const LiveBytes live = sweep.live(point);
        CHECK(sum_of(sweep.kept(point)) == live.kept);
        CHECK(sum_of(sweep.tiles(point)) == live.step.tiles + live.step.carried);
        moments.highest_bytes = std::max(moments.highest_bytes, live.total());
        moments.carries |= live.step.carried > 0;
      }
    }
  }
  return moments;
}

Model random_decoder(Random& random) {
  if (random.chance(0.4)) return test::model_of(test::random_config(random));
  return test::model_of(random.chance(0.5) ? test::random_wan_config(random)
                                           : test::random_wan_22_config(random));
}

TEST_CASE("the peak of a pass is its highest moment, and says where that is", "[unit][peak]") {
  int64_t carrying = 0, several_tiles = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Model model = random_decoder(random);
    const Extent latent{model.decodes_clips ? random.integer(1, 3) : 1, random.integer(1, 15),
                        random.integer(1, 15)};
    const auto device = random.pick<DeviceKind>({DeviceKind::cpu, DeviceKind::cuda});
    const Request request = test::request_for(model, latent, 2, Dtype::fp32, device);
    test::RandomStyle style;
    style.below = random.pick<double>({0, 0.5});
    if (device == DeviceKind::cuda) style.form = ConvolutionAlgorithm::direct;
    MemoryModel memory;
    memory.block_bytes = random.pick<int64_t>({1, 300, 20'000});
    memory.reserve_bytes = 1000;
    memory.workspace_bytes = [](const Op& op, ConvolutionAlgorithm, const Extent& tile, const Sizes&) {
      return op.kind == OpKind::conv ? positions(tile) * 100 : 0;
    };
    const Plan plan = test::random_plan(model, request, 1, style, memory, random).plan;
    for (size_t i = 0; i < plan.passes.size(); ++i) {
      const PassSweep sweep(model.graph, plan, i, memory);
      const Peak peak = sweep.peak();
      const AllMoments all = look_at_all(sweep, plan.passes[i]);
      CHECK(peak.bytes == all.highest_bytes);
      CHECK(peak.bytes == plan.passes[i].predicted_peak_bytes);
      CHECK(sweep.live(peak.point).total() == peak.bytes);
      carrying += all.carries;
      several_tiles += peak.point.later_tile;
    }
  }
  CHECK(carrying > 10);
  CHECK(several_tiles > 10);
}

}  // namespace
}  // namespace headroom
