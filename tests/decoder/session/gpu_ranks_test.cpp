// Several ranks, each with its own emulated GPU. Rows pass through host memory, as with Gloo, or directly
// between GPUs, as with NCCL.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "decoder/base/errors.h"
#include "planner/cost/device_costs.h"
#include "planner/search/finish_plan.h"
#include "tests/emulated_gpu/emulated_gpu.h"
#include "tests/support/any_plan.h"
#include "tests/support/causal_attention.h"
#include "tests/support/decoding_by_ranks.h"
#include "tests/support/late_gpu.h"
#include "tests/support/lent_rows.h"
#include "tests/support/random_ranked_plan.h"
#include "tests/support/sanitized.h"

namespace headroom {
namespace {

using test::Random;
using test::request_for;

/// Path of rows between GPUs, and if the GPU defers its work.
struct Way {
  bool device_memory = false, late = false;
};

/// The GPUs of all ranks.
class Gpus {
 public:
  Gpus(size_t ranks, const Way& way) {
    for (size_t rank = 0; rank < ranks; ++rank) {
      Own& own = own_.emplace_back();
      own.emulated = std::make_unique<gpu::EmulatedGpu>();
      gpu::Gpu* gpu = own.emulated.get();
      if (way.late) {
        own.late = std::make_unique<test::LateGpu>(*gpu);
        gpu = own.late.get();
      }
      if (way.device_memory) {
        own.lending = std::make_unique<test::LendingGpu>(*gpu);
        gpu = own.lending.get();
      }
      on_.push_back({gpu, {}});
      if (way.device_memory) {
        on_.back().exchange = [lending = own.lending.get()](Exchange& network) {
          return std::make_unique<test::DeviceMemoryExchange>(network, *lending);
        };
      }
    }
  }
  const std::vector<test::OnRank>& on() const { return on_; }

 private:
  struct Own {
    std::unique_ptr<gpu::EmulatedGpu> emulated;
    std::unique_ptr<test::LateGpu> late;
    std::unique_ptr<test::LendingGpu> lending;
  };
  std::vector<Own> own_;
  std::vector<test::OnRank> on_;
};

Array whole_on_cpu(const Model& model, Request request, const Array& latent, uint64_t seed) {
  request.device = DeviceKind::cpu;
  return test::decode_to_memory(model, untiled_plan(model, request), test::random_source(seed), latent)
      .picture;
}

/// Adds the gaps of each rank's reservation to the plan.
Plans with_gaps(Plans plan, const Model& model) {
  for (Plan& of_rank : plan.plans) {
    of_rank.limit_bytes = int64_t{1} << 29;
    planner::add_gaps(of_rank, model);
  }
  return plan;
}

/// Decodes by random plans for several GPUs. Compares the pixels with the untiled decode on the CPU. Compares
/// reservations and sent bytes with the predictions.
template <typename Draw>
void check_drawn_ranks(uint64_t seeds, int64_t most_frames, const Draw& draw) {
  int64_t moved = 0;
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    Random random(seed);
    const test::DecodeStyle decodes{most_frames, 2, 6, 2, false, DeviceKind::cuda};
    const test::DrawnRequest drawn = test::draw_request(seed, random, decodes, draw);
    const Extent& latent = drawn.latent_extent;
    const int32_t ranks = seed % 4 == 3 ? 1 : 2 + static_cast<int32_t>(seed % 2);
    const Way way{random.chance(0.5), random.chance(0.5)};
    CAPTURE(seed, drawn.drawn.text, latent.t, latent.y, latent.x, drawn.request.batch, drawn.micro_batch,
            ranks, way.device_memory, way.late);
    test::RandomStyle style;
    style.keep = random.pick<double>({0, 0.5, 0.8, 1});
    style.most_tiles = test::kSanitized ? 3 : 6;
    style.form = ConvolutionAlgorithm::direct;
    MemoryModel memory = planner::cuda_memory_model(drawn.model.graph);
    memory.block_bytes = random.pick<int64_t>({1, 700, int64_t{4} << 20});
    const WeightResidency weights =
        random.chance(0.3) ? WeightResidency::per_pass : WeightResidency::resident;
    const Plans plan = with_gaps(test::draw_ranked_plan(drawn.model, drawn.request, ranks, style, memory,
                                                        random, drawn.micro_batch, weights),
                                 drawn.model);
    const Gpus gpus(plan.plans.size(), way);
    const test::DecodedByRanks decoded =
        test::decode_by_ranks(drawn.model, plan, test::random_source(seed), drawn.latent, seed, gpus.on());
    const Array whole = whole_on_cpu(drawn.drawn.model, drawn.request, drawn.latent, seed);
    CHECK(test::relative_error(decoded.picture, whole) <= test::kExact);
    for (size_t rank = 0; rank < plan.plans.size(); ++rank) {
      CAPTURE(rank);
      CHECK(decoded.stats[rank].pool_peak_bytes <= plan.plans[rank].predicted_peak_bytes);
      CHECK(decoded.sent_bytes[rank] == plan.sent[rank].rows_bytes + plan.sent[rank].statistics_bytes);
    }
    moved += plan.transfers.empty() ? 0 : 1;
  }
  if (!test::kSanitized) CHECK(moved > 0);  // a subset of plans may move nothing
}

TEST_CASE("several GPUs give the pixels of the untiled decode: AutoencoderKL") {
  check_drawn_ranks(test::kSanitized ? 2 : 8, 1, test::random_config);
}

TEST_CASE("several GPUs: AutoencoderTiny and HunyuanImage", "[long]") {
  check_drawn_ranks(test::kSanitized ? 1 : 4, 1, [](Random& random) {
    return random.chance(0.6) ? test::random_autoencoder_tiny_config(random)
                              : test::random_hunyuan_image_config(random);
  });
}

TEST_CASE("several GPUs: clips", "[long]") {
  check_drawn_ranks(test::kSanitized ? 1 : 4, 3, [](Random& random) {
    return random.chance(0.5) ? test::random_wan_config(random) : test::random_causal_config(random);
  });
}

TEST_CASE("several GPUs: attention of each frame with all before it") {
  check_drawn_ranks(test::kSanitized ? 1 : 6, 4, test::random_causal_attention_model);
}

TEST_CASE("several GPUs: HunyuanVideo's and LTX's decoders", "[long]") {
  check_drawn_ranks(test::kSanitized ? 1 : 6, 3, [](Random& random) {
    return random.chance(0.5) ? test::random_hunyuan_video_config(random)
                              : test::random_ltx_video_config(random);
  });
}

TEST_CASE("several GPUs: AutoencoderDC") {
  check_drawn_ranks(test::kSanitized ? 1 : 6, 1, test::random_dc_config);
}

/// Two ranks that keep all tensors, with several tiles each.
struct TwoRanks {
  Model model = test::model_of(test::tiny_config({16, 32}));
  Request request = request_for(model, {1, 6, 4}, 1, Dtype::fp32, DeviceKind::cuda);
  Plans plan;
  Array latent = test::latent_for(model, request, 5);

  TwoRanks() {
    Random random(5);
    const test::RandomStyle style{.keep = 1, .most_tiles = 3, .form = ConvolutionAlgorithm::direct};
    plan = with_gaps(
        test::draw_ranked_plan(model, request, 2, style, planner::cuda_memory_model(model.graph), random),
        model);
    REQUIRE(!plan.transfers.empty());
  }
  std::vector<std::string> errors_of(const ParameterSource& weights,
                                     const std::vector<test::OnRank>& on) const {
    std::vector<std::string> errors;
    for (const std::exception_ptr& thrown : test::try_by_ranks(model, plan, weights, latent, 5, on).thrown) {
      try {
        if (thrown) std::rethrow_exception(thrown);
        errors.emplace_back("no error");
      } catch (const std::exception& error) {
        errors.emplace_back(error.what());
      }
    }
    return errors;
  }
};

TEST_CASE("a value that is not finite ends every rank with the layer's name") {
  TwoRanks ready;
  std::string spoilt = "none";
  SECTION("in the last rank's latent") {
    ready.latent.values.back() = std::nanf("");
  }
  SECTION("in a layer in the middle") {
    spoilt = "decoder.mid_block.resnets.1.conv1.bias";
  }
  SECTION("in the last layer") {
    spoilt = "decoder.conv_out.bias";
  }
  const ParameterSource weights = [&, sound = test::random_source(5)](const Parameter& parameter,
                                                                      const Interval& elements, float* out) {
    sound(parameter, elements, out);
    if (parameter.name == spoilt) std::fill_n(out, elements.length(), NAN);
  };
  Request on_cpu = ready.request;
  on_cpu.device = DeviceKind::cpu;
  std::string expected;
  try {
    test::decode_to_memory(ready.model, untiled_plan(ready.model, on_cpu), weights, ready.latent);
  } catch (const InputError& error) {
    expected = error.what();
  }
  CHECK_THAT(expected, Catch::Contains("its output is not finite"));
  for (const bool device_memory : {false, true}) {
    const Gpus gpus(2, {device_memory, true});
    for (const std::string& error : ready.errors_of(weights, gpus.on()))
      CHECK_THAT(error, Catch::Contains(expected));
  }
}

/// Treats messages as received before they have arrived.
class HastyExchange final : public test::DeviceMemoryExchange {
 public:
  using DeviceMemoryExchange::DeviceMemoryExchange;
  void wait(Ticket) override {}
};

TEST_CASE("a GPU that works on rows which are still on their way is found") {
  const TwoRanks ready;
  std::vector<gpu::EmulatedGpu> emulated(2);
  std::vector<std::unique_ptr<test::LendingGpu>> lending;
  std::vector<test::OnRank> on;
  for (gpu::EmulatedGpu& gpu : emulated) {
    lending.push_back(std::make_unique<test::LendingGpu>(gpu));
    on.push_back({lending.back().get(), [own = lending.back().get()](Exchange& network) {
                    return std::make_unique<HastyExchange>(network, *own);
                  }});
  }
  const std::vector<std::string> errors = ready.errors_of(test::random_source(5), on);
  CHECK(std::any_of(errors.begin(), errors.end(), [](const std::string& error) {
    return error.find("have not come yet") != std::string::npos;
  }));
}

}  // namespace
}  // namespace headroom
