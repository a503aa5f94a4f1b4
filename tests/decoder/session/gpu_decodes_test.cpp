// Runs on the emulated GPU, which also detects hazards, on a real one, and by PyTorch's executor.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "decoder/base/errors.h"
#include "decoder/session/gpu_session.h"
#include "decoder/validator/validator.h"
#include "planner/cost/device_costs.h"
#include "planner/explain/why_not.h"
#include "planner/search/finish_plan.h"
#include "planner/search/make_plan.h"
#include "tests/support/any_gpu_plan.h"
#include "tests/support/causal_attention.h"
#include "tests/support/decoding_gpu.h"
#include "tests/support/edged_models.h"
#include "tests/support/exact_costs.h"
#include "tests/support/sanitized.h"
#include "tests/support/tiny_dc.h"
#include "tests/support/tiny_encoders.h"
#include "tests/support/tiny_pictures.h"
#include "tests/support/tiny_video.h"

namespace headroom {
namespace {

using test::MemorySink;
using test::norms_of;
using test::on_gpu;
using test::picture_shape;
using test::Random;
using test::random_source;
using test::request_for;

Array untiled_on_cpu(const Model& model, Request request, const Array& latent, uint64_t seed) {
  request.device = DeviceKind::cpu;
  request.dtype = Dtype::fp32;
  return test::decode_to_memory(model, untiled_plan(model, request), random_source(seed), latent).picture;
}

/// Number of plans with each feature.
struct Seen {
  std::optional<DeviceKind> device;  // none: no GPU, so nothing was decoded
  int64_t moves = 0, moves_in_micro_batches = 0;
};

/// Decodes by random plans for CUDA. Requires the pixels of the untiled decode on the CPU.
template <typename Draw>
Seen check_drawn_plans(uint64_t seeds, int64_t most_frames, const Draw& draw) {
  const std::unique_ptr<gpu::Gpu> gpu = test::decoding_gpu();
  Seen seen;
  if (!gpu) return seen;
  seen.device = gpu->kind();
  // PyTorch's executor shares plans and interpreter with the other devices, whose tests draw all.
  const bool by_torch = seen.device == DeviceKind::torch;
  if (by_torch) seeds = (seeds + 2) / 3;
  int64_t transfers = 0, in_micro_batches = 0, staged = 0, attended = 0;
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    Random random(seed);
    // The deviation of a group with one value is 0, which amplifies rounding errors a thousandfold.
    const test::DecodeStyle decodes{most_frames, 2, 6, 3, false, gpu->kind()};
    const test::DrawnRequest drawn = test::draw_request(seed, random, decodes, draw);
    const Extent& latent = drawn.latent_extent;
    const Request& request = drawn.request;
    CAPTURE(seed, drawn.drawn.text, latent.t, latent.y, latent.x, request.batch, drawn.micro_batch);
    const Plan plan = test::drawn_gpu_plan(drawn, random);
    const DryRun dry_run = run_dry(drawn.model, plan);
    const int64_t moves = std::ssize(dry_run.placement.moves);
    seen.moves += moves;
    seen.moves_in_micro_batches += drawn.micro_batch < request.batch ? moves : 0;
    staged += test::staged_attentions(plan);
    for (const Op& op : drawn.model.graph.ops())
      attended += op.kind == OpKind::attention && op.frames != AttentionFrames::interleaved ? 1 : 0;
    in_micro_batches += drawn.micro_batch < request.batch ? 1 : 0;
    const test::Decoded decoded = on_gpu(*gpu, drawn.model, plan, drawn.latent, seed);
    const Array reference = untiled_on_cpu(drawn.drawn.model, request, drawn.latent, seed);
    CHECK(test::relative_error(decoded.picture, reference) <= test::kExact);
    CHECK(decoded.stats.pool_peak_bytes <= plan.predicted_peak_bytes);
    transfers += std::any_of(plan.kept.begin(), plan.kept.end(),
                             [](const KeptTensor& kept) { return kept.tier == MemoryTier::host; })
                     ? 1
                     : 0;
  }
  if (test::kSanitized || by_torch) return seen;  // a subset of plans may lack some features
  CHECK(transfers > 0);
  CHECK(staged >= attended / 10);
  CHECK(in_micro_batches > 0);
  return seen;
}

TEST_CASE("any plan for a GPU gives the pixels of the untiled decode") {
  const Seen seen = check_drawn_plans(test::kSanitized ? 3 : 20, 1, test::random_config);
  // Without workspaces a plan hardly ever has moves.
  if (test::kSanitized || seen.device != DeviceKind::cuda) return;
  CHECK(seen.moves_in_micro_batches > 0);
}

TEST_CASE("any plan for a GPU: what stands outside the picture") {
  check_drawn_plans(test::kSanitized ? 4 : 40, 3, test::random_edged_model);
}

TEST_CASE("any plan for a GPU: AutoencoderDC") {
  check_drawn_plans(test::kSanitized ? 2 : 12, 1, test::random_dc_config);
}

TEST_CASE("any plan for a GPU: AutoencoderTiny and HunyuanImage", "[long]") {
  check_drawn_plans(test::kSanitized ? 2 : 12, 1, [](Random& random) {
    return random.chance(0.4) ? test::random_hunyuan_image_config(random)
                              : test::random_autoencoder_tiny_config(random);
  });
}

TEST_CASE("any plan for a GPU: clips", "[long]") {
  check_drawn_plans(test::kSanitized ? 1 : 12, 3, [](Random& random) {
    return random.chance(0.5) ? test::random_wan_config(random) : test::random_causal_config(random);
  });
}

TEST_CASE("any plan for a GPU: an upscaling AutoencoderKLWan", "[long]") {
  check_drawn_plans(test::kSanitized ? 1 : 10, 3, test::random_wan_upscale_config);
}

TEST_CASE("any plan for a GPU: Wan 2.2's network", "[long]") {
  check_drawn_plans(test::kSanitized ? 1 : 10, 3, test::random_wan_22_config);
}

TEST_CASE("any plan for a GPU: attention of each frame with all before it") {
  check_drawn_plans(test::kSanitized ? 1 : 12, 4, test::random_causal_attention_model);
}

TEST_CASE("any plan for a GPU: AutoencoderKLHunyuanVideo", "[long]") {
  check_drawn_plans(test::kSanitized ? 1 : 12, 3, test::random_hunyuan_video_config);
}

TEST_CASE("any plan for a GPU: AutoencoderKLHunyuanVideo15", "[long]") {
  check_drawn_plans(test::kSanitized ? 1 : 12, 3, test::random_hunyuan_video_15_config);
}

TEST_CASE("any plan for a GPU: TAEHV", "[long]") {
  check_drawn_plans(test::kSanitized ? 1 : 12, 1, test::random_taehv_config);
}

TEST_CASE("any plan for a GPU: SeedVR2's decoder", "[long]") {
  check_drawn_plans(test::kSanitized ? 1 : 12, 3, test::random_seedvr2_config);
}

TEST_CASE("any plan for a GPU: frames in the channels of HunyuanImage 3's decoder", "[long]") {
  check_drawn_plans(test::kSanitized ? 1 : 10, 1, test::random_hunyuan_image_3_config);
}

TEST_CASE("any plan for a GPU: AutoencoderKLTemporalDecoder", "[long]") {
  check_drawn_plans(test::kSanitized ? 1 : 12, 3, test::random_temporal_decoder_config);
}

TEST_CASE("any plan for a GPU: AutoencoderKLCogVideoX", "[long]") {
  check_drawn_plans(test::kSanitized ? 1 : 12, 5, test::random_cogvideox_config);
}

TEST_CASE("any plan for a GPU: HunyuanImage's refiner") {
  check_drawn_plans(test::kSanitized ? 1 : 12, 3, test::random_hunyuan_image_refiner_config);
}

TEST_CASE("any plan for a GPU: LTX's decoders", "[long]") {
  check_drawn_plans(test::kSanitized ? 1 : 12, 3, test::random_ltx_video_config);
}

TEST_CASE("any plan for a GPU: encoders of pictures") {
  check_drawn_plans(test::kSanitized ? 2 : 24, 1, [](Random& random) {
    if (random.chance(0.2)) return test::random_hunyuan_image_encoder(random);
    if (random.chance(0.2)) return test::random_autoencoder_tiny_encoder(random);
    return random.chance(0.5) ? test::random_encoder(random) : test::random_dc_encoder(random);
  });
}

TEST_CASE("any plan for a GPU: encoders of Wan") {
  check_drawn_plans(test::kSanitized ? 1 : 12, 3, [](Random& random) {
    return random.chance(0.5) ? test::random_wan_encoder(random) : test::random_wan_22_encoder(random);
  });
}

TEST_CASE("any plan for a GPU: encoders of HunyuanVideo, HunyuanVideo 1.5 and LTX", "[long]") {
  check_drawn_plans(test::kSanitized ? 1 : 24, 3, [](Random& random) {
    if (random.chance(0.3)) return test::random_hunyuan_video_encoder(random);
    if (random.chance(0.3)) return test::random_ltx_video_encoder(random);
    return random.chance(0.5) ? test::random_hunyuan_video_15_encoder(random)
                              : test::random_ltx2_encoder(random);
  });
}

TEST_CASE("16 bits on a GPU are as near to fp32 as their rounding is") {
  const std::unique_ptr<gpu::Gpu> gpu = test::decoding_gpu();
  if (!gpu) return;
  const nlohmann::json picture = test::tiny_config({16, 32}), clip = test::tiny_wan_22_config();
  const std::vector<std::pair<Model, int64_t>> models{{test::model_of(picture), 1},
                                                      {test::causal_attention_model(16, true), 4},
                                                      {test::encoder_of(picture).model, 1},
                                                      {test::encoder_of(clip).model, 3}};
  for (size_t i = 0; i < 2 * models.size(); ++i) {
    const Dtype dtype = i % 2 == 0 ? Dtype::bf16 : Dtype::fp16;
    const auto& [model, frames] = models[i / 2];
    CAPTURE(name_of(dtype), frames, model.graph.encodes());
    const Request request = request_for(model, {frames, 6, 5}, 1, dtype, gpu->kind());
    planner::PlanOptions options;
    options.limit_bytes = int64_t{1} << 29;
    const bool cuda = gpu->kind() == DeviceKind::cuda;
    const planner::CostModel costs =
        cuda ? test::exact_costs(model.graph) : planner::CostModel(model.graph, gpu->kind());
    const Plan plan = planner::make_plan({model, request, options, costs}).value();
    const Array input = test::latent_for(model, request, 3);
    const test::Decoded decoded = on_gpu(*gpu, model, plan, input, 3);
    const Array reference = untiled_on_cpu(model, request, input, 3);
    const double tolerance = dtype == Dtype::bf16 ? 0.05 : 0.006;
    const double error = test::relative_error(decoded.picture, reference);
    CHECK(error <= tolerance);
    CHECK(error > 0);
  }
}

TEST_CASE("decodes of changing sizes share one reservation, and each is what it is by itself", "[long]") {
  const Model model = test::model_of(test::tiny_config({16, 32}));
  const planner::CostModel costs = test::exact_costs(model.graph);
  struct Decode {
    Request request;
    Plan plan;
    Array latent;
  };
  std::vector<Decode> decodes;
  int64_t bytes = 0;
  const auto add = [&](const Extent& latent, Dtype dtype, WeightResidency weights, int64_t host_bytes) {
    Decode& decode = decodes.emplace_back();
    decode.request = request_for(model, latent, 1, dtype, DeviceKind::cuda);
    planner::PlanOptions options;
    options.limit_bytes = int64_t{1} << 29;
    options.weights = weights;
    if (host_bytes > 0) {
      options.host_limit_bytes = host_bytes;
      options.limit_bytes =
          planner::why_not({model,
                            decode.request,
                            {.limit_bytes = 1, .host_limit_bytes = host_bytes, .weights = weights},
                            costs})
              .smallest_limit_bytes;
    }
    decode.plan = planner::make_plan({model, decode.request, options, costs}).value();
    if (host_bytes > 0) {
      // Most of this small decode is workspace of attention, so no limit makes the planner use host memory.
      for (KeptTensor& kept : decode.plan.kept) {
        kept.tier = MemoryTier::host;
        // Blocks that are taken over stay on the device.
        if (!validate(decode.plan, model).empty()) kept.tier = MemoryTier::device;
      }
      planner::add_gaps(decode.plan, model);
      REQUIRE(validate(decode.plan, model).empty());
    }
    decode.latent = test::latent_for(model, decode.request, decodes.size());
    bytes = std::max(bytes, run_dry(model, decode.plan).bytes());
  };
  add({1, 6, 4}, Dtype::fp32, WeightResidency::resident, 0);
  add({1, 12, 10}, Dtype::fp32, WeightResidency::resident, 1 << 24);
  add({1, 5, 7}, Dtype::fp32, WeightResidency::per_pass, 0);
  add({1, 5, 7}, Dtype::bf16, WeightResidency::resident, 0);
  const std::unique_ptr<gpu::Gpu> gpu = test::decoding_gpu();
  if (!gpu) return;
  std::vector<Array> alone;
  for (const Decode& decode : decodes)
    alone.push_back(on_gpu(*gpu, model, decode.plan, decode.latent, 9).picture);
  const ParameterSource source = random_source(9);
  std::vector<Plan> plans;
  for (const Decode& decode : decodes) plans.push_back(decode.plan);
  GpuSession session({model, source, plans}, *gpu);
  const std::vector<size_t> order =
      test::kSanitized ? std::vector<size_t>{1, 0, 3} : std::vector<size_t>{0, 1, 0, 2, 1, 3, 0};
  for (const size_t i : order) {
    CAPTURE(i);
    const Decode& decode = decodes[i];
    MemorySink sink(picture_shape(model, decode.request));
    const RunStats stats = session.decode(i, decode.latent, sink, nullptr);
    sink.finish();
    CHECK(sink.picture.values == alone[i].values);
    CHECK(stats.pool_peak_bytes == decode.plan.predicted_peak_bytes);
    CHECK((stats.to_host_bytes > 0) == (i == 1));
  }
  CHECK(session.held_bytes() == bytes);
}

}  // namespace
}  // namespace headroom
