// Profiles of an emulated GPU, whose time is made up.
#include <algorithm>
#include <catch2/catch.hpp>
#include <exception>
#include <nlohmann/json.hpp>

#include "decoder/base/errors.h"
#include "decoder/families/load_model.h"
#include "decoder/gpu/dry_run.h"
#include "decoder/graph/geometry.h"
#include "decoder/operations/operation.h"
#include "decoder/schedule/build_plan.h"
#include "decoder/schedule/storage.h"
#include "planner/cost/cost_model.h"
#include "planner/cost/device_costs.h"
#include "planner/cost/profile_check.h"
#include "planner/explain/why_not.h"
#include "planner/program/run.h"
#include "planner/search/make_plan.h"
#include "profiler/measure/collect.h"
#include "profiler/profile/profile_file.h"
#include "tests/emulated_gpu/emulated_gpu.h"
#include "tests/support/decoding_gpu.h"
#include "tests/support/model_folder.h"
#include "tests/support/program.h"
#include "tests/support/sanitized.h"
#include "tests/support/timed_gpu.h"
#include "tests/support/tiny_dc.h"
#include "tests/support/tiny_model.h"
#include "tests/support/tiny_pictures.h"
#include "tests/support/tiny_video.h"

namespace headroom::profiler {
namespace {

using gpu::EmulatedGpu;
using nlohmann::json;
using test::TimedGpu;

constexpr uint64_t kSeed = 3;

/// A GPU with a clock of its own, and profiles of it.
struct Measured {
  EmulatedGpu emulated;
  TimedGpu gpu{emulated, test::made_up_seconds};

  Profile profile(const Model& model, const ProfileRequest& request) {
    start_libraries(2);
    return collect_profile(
        model, request, test::random_source(kSeed), [](double, double, const std::string&) {}, &gpu,
        gpu.clock());
  }
};

ProfileRequest asked(const Model& model, std::vector<std::pair<int64_t, int64_t>> sizes,
                     Dtype dtype = Dtype::fp32) {
  ProfileRequest request;
  request.model = model.name;
  request.sizes = std::move(sizes);
  request.dtype = dtype;
  request.weights_source = "random";
  return request;
}

Request planned(const ProfileRequest& request, size_t size) {
  return {request.model, request.sizes[size].first, request.sizes[size].second, request.frames, request.batch,
          request.dtype, DeviceKind::cuda};
}

/// Every layer at every size, every latency table, and the bytes of the dry runs.
void check_whole(const Model& model, const ProfileRequest& request, const Profile& profile) {
  const Graph& graph = model.graph;
  CHECK(profile.device_kind == DeviceKind::cuda);
  CHECK(profile.device == "emulated GPU");
  CHECK(profile.libraries == "emulator");
  CHECK(profile.dtype == request.dtype);
  CHECK(profile.weights_bytes == resident_weights_bytes(graph, {DeviceKind::cuda, request.dtype}));
  CHECK(profile.transform_bytes_per_second == 0);
  REQUIRE(profile.layers.size() == graph.ops().size());
  REQUIRE(profile.sizes.size() == request.sizes.size());
  for (size_t s = 0; s < request.sizes.size(); ++s) {
    const Plan plan = untiled_plan(model, planned(request, s));
    const Sizes sizes = sizes_of(graph, plan);
    const DryRun dry_run = run_dry(model, plan);
    const MemoryModel memory = planner::cuda_memory_model(graph);
    const ProfiledSize& size = profile.sizes[s];
    CHECK(size.peak_bytes >= dry_run.bytes());
    CHECK(size.batch == request.batch);
    CHECK(graph.find_tensor(size.peak_layer) != TensorId{-1});
    int64_t most = 0, live = 0;
    for (size_t i = 0; i < graph.ops().size(); ++i) {
      const Op& op = graph.ops()[i];
      CAPTURE(op.name, s);
      const LayerMeasurement& layer = profile.layers[i].sizes[s];
      CHECK(layer.activation_bytes ==
            bytes_of(graph.tensor(op.output), sizes.latent, request.batch, request.dtype));
      CHECK(layer.live_bytes > profile.weights_bytes);
      CHECK(layer.live_bytes <= dry_run.live_bytes());
      // Convolutions in 16 bits add residuals in their own time.
      const bool added_elsewhere = op.kind == OpKind::add && request.dtype != Dtype::fp32;
      CHECK((added_elsewhere ? layer.seconds >= 0 : layer.seconds > 0));
      // The granted workspace; input tiles of a convolution have a halo besides.
      const Extent whole = extent_of(graph.tensor(measured_tensor(op)), sizes.latent);
      CHECK(layer.workspace_bytes >= memory.workspace_bytes(op, ConvolutionAlgorithm::direct, whole, sizes));
      most = std::max(most, layer.live_bytes);
    }
    for (const LiveTensor& tensor : size.peak_live) live += tensor.bytes;
    CHECK(live == dry_run.live_bytes());
    CHECK(most <= live);
  }
  for (const LayerProfile& layer : profile.layers) {
    CAPTURE(layer.name);
    const LatencyTable* latency_table = profile.find_latency_table(layer.latency_table);
    REQUIRE(latency_table != nullptr);
    CHECK(latency_table->name == latency_table_name(graph, graph.op(graph.find_op(layer.name))));
  }
  for (const LatencyTable& latency_table : profile.latency_tables) {
    CAPTURE(latency_table.name);
    CHECK(latency_table.name.find("winograd") == std::string::npos);
    CHECK(std::all_of(latency_table.seconds.begin(), latency_table.seconds.end(),
                      [](double s) { return s > 0 && s < 1e4; }));
    const bool works = latency_table.name.find("conv") != std::string::npos ||
                       (latency_table.name.find("attention") != std::string::npos &&
                        latency_table.name.find("linear") == std::string::npos);
    CHECK((latency_table.workspace_bytes.back() > 0) == works);
  }
  CHECK(planner::LatencyLookup(graph, profile).missing().empty());
  planner::check_profiled_model(profile, "profile.json", graph, planned(request, 0));
  CHECK(profile_from_json(JsonFields(json::parse(to_json(profile).dump()), "profile.json")) == profile);
}

TEST_CASE("a profile of a GPU has every layer and every latency table, in every dtype", "[long]") {
  const Dtype dtype = GENERATE(Dtype::fp32, Dtype::bf16, Dtype::fp16);
  if (test::kSanitized && dtype != Dtype::bf16) return;
  CAPTURE(name_of(dtype));
  const Model model = test::model_of(test::tiny_config());
  Measured measured;
  const ProfileRequest request = asked(model, {{16, 8}, {12, 16}}, dtype);
  check_whole(model, request, measured.profile(model, request));
  CHECK(measured.emulated.reserved_bytes() == 0);
}

TEST_CASE("a profile of a GPU: batches, AutoencoderDC, clips", "[long]") {
  json config;
  ProfileRequest request = asked({}, {{12, 8}});
  if (!test::kSanitized) {
    SECTION("a batch") {
      config = test::tiny_config({8});
      request.batch = 2;
    }
  }
  SECTION("linear attention") {
    config = test::tiny_dc_config();
    request.sizes = {{16, 8}};
    request.dtype = Dtype::bf16;
  }
  SECTION("activations by themselves, and of sums") {
    config = test::tiny_autoencoder_tiny_config();
  }
  SECTION("frames: Wan") {
    config = test::tiny_wan_config();
    request.sizes = {{16, 8}};
    request.frames = 5;
  }
  SECTION("frames: Wan 2.2") {
    config = test::tiny_wan_22_config();
    request.sizes = {{16, 8}};
    request.frames = 3;
  }
  if (!test::kSanitized) {
    SECTION("frames: statistics of each frame") {
      config = test::tiny_causal_config();
      request.sizes = {{4, 4}};
      request.frames = 3;
    }
  }
  const Model model = test::model_of(config);
  Measured measured;
  check_whole(model, request, measured.profile(model, request));
}

TEST_CASE("rates of copies and of parameters are what the clock says") {
  const Model model = test::model_of(test::tiny_config({8}));
  Measured measured;
  const Profile profile = measured.profile(model, asked(model, {{8, 8}}));
  CHECK(profile.to_host_bytes_per_second == Approx(20e9));
  CHECK(profile.from_host_bytes_per_second == Approx(30e9));
  CHECK(profile.weights_bytes_per_second > 0);
  const Request request{"tiny", 8, 8, 1, 1, Dtype::fp32, DeviceKind::cuda};
  const planner::CostModel costs(model.graph, profile, request);
  planner::CostModel::Transfers moved;
  costs.add_transfer(moved, MemoryTier::host, false, 30e9);
  costs.add_transfer(moved, MemoryTier::host, true, 40e9);
  CHECK(moved.read_seconds == Approx(1));
  CHECK(moved.written_seconds == Approx(2));
}

TEST_CASE("latency tables have what one call takes, however many are made") {
  const Model model = test::model_of(test::tiny_config({8}));
  Measured measured;
  const Profile profile = measured.profile(model, asked(model, {{20, 24}}));
  const auto check = [&](const std::string& name, const gpu::Call& call) {
    const LatencyTable* latency_table = profile.find_latency_table(name);
    REQUIRE(latency_table != nullptr);
    const double kind = 1 + double(call.index());
    for (size_t i = 0; i < latency_table->seconds.size(); ++i) {
      const auto positions = double(latency_table->rows[i / latency_table->columns.size()] *
                                    latency_table->columns[i % latency_table->columns.size()]);
      CAPTURE(name, i);
      CHECK(latency_table->seconds[i] ==
            Approx(kind * (test::kMadeUpCall + test::kMadeUpValue * 8 * positions)).epsilon(1e-6));
    }
  };
  check("gather 8", gpu::Gather{});
  check("store 8", gpu::Copy{});
  check("add 8", gpu::Add{});
  check("accumulate 8", gpu::Add{});
  check("norm 8 silu", gpu::Normalise{});
}

TEST_CASE("plans count the workspace that is granted, whatever a profile has seen") {
  const Model model = test::model_of(test::tiny_config({8}));
  Measured measured;
  const ProfileRequest request = asked(model, {{8, 8}}, Dtype::bf16);
  Profile profile = measured.profile(model, request);
  for (LatencyTable& latency_table : profile.latency_tables)
    std::fill(latency_table.workspace_bytes.begin(), latency_table.workspace_bytes.end(), 1 << 30);
  const Sizes sizes{{1, 8, 8}, 1, Dtype::bf16, DeviceKind::cuda};
  const planner::CostModel costs(model.graph, profile, planned(request, 0));
  const MemoryModel granted = planner::cuda_memory_model(model.graph);
  for (const Op& op : model.graph.ops()) {
    CHECK(costs.memory().workspace_bytes(op, ConvolutionAlgorithm::direct, {1, 8, 8}, sizes) ==
          granted.workspace_bytes(op, ConvolutionAlgorithm::direct, {1, 8, 8}, sizes));
  }
}

/// Seconds of a decode by the GPU's clock, without weights.
double decoded_seconds(TimedGpu& gpu, const Model& model, const Plan& plan) {
  const double before = gpu.seconds();
  on_gpu(gpu, model, plan, test::latent_for(model, plan.request, 1), kSeed);
  return gpu.seconds() - before;
}

double predicted_seconds(const Plan& plan) {
  double seconds = 0;
  for (const Pass& pass : plan.passes) seconds += pass.predicted_seconds;
  return seconds;
}

int64_t smallest_limit(const Model& model, const Request& request, const planner::CostModel& costs) {
  return planner::why_not({model, request, {.limit_bytes = 1}, costs}).smallest_limit_bytes;
}

void check_predicted(const nlohmann::json& config, ProfileRequest request,
                     const std::vector<std::pair<int64_t, int64_t>>& others) {
  const Model model = test::model_of(config);
  request.model = model.name;
  Measured measured;
  const Profile profile = measured.profile(model, request);
  for (const LatencyTable& latency_table : profile.latency_tables) {
    CAPTURE(latency_table.name);
    // A latency table of a single grid point along the columns knows of no fixed part there.
    if (latency_table.columns.size() > 1) CHECK(latency_table.held_out_error < 1e-9);
  }
  for (const auto& [width, height] : others) {
    Request other{model.name, width, height, request.frames, request.batch, request.dtype, DeviceKind::cuda};
    const planner::CostModel costs(model.graph, profile, other);
    CHECK_FALSE(costs.assumed());
    planner::PlanOptions options{.limit_bytes = int64_t{1} << 29};
    const int64_t ample = planner::make_plan({model, other, options, costs}).value().predicted_peak_bytes;
    for (const int64_t limit : {ample, (ample + smallest_limit(model, other, costs)) / 2}) {
      options.limit_bytes = limit;
      const Plan plan = planner::make_plan({model, other, options, costs}).value();
      CAPTURE(width, height, limit, plan.passes.size());
      CHECK(plan.environment == Environment{"emulated GPU", "emulator"});
      CHECK_FALSE(plan.assumed);
      CHECK(predicted_seconds(plan) == Approx(decoded_seconds(measured.gpu, model, plan)).epsilon(0.02));
    }
  }
}

TEST_CASE("where a GPU's time is known, plans of sizes that were not profiled take what is predicted",
          "[long]") {
  if (test::kSanitized) return;  // it is about seconds; gpu_profiles_test.cpp runs the same code
  SECTION("pictures") {
    check_predicted(test::tiny_config({8, 16}), asked({}, {{24, 16}, {32, 24}}), {{28, 20}, {16, 24}});
  }
  SECTION("a batch, each item by itself") {
    ProfileRequest request = asked({}, {{24, 20}}, Dtype::bf16);
    request.batch = 3;
    check_predicted(test::tiny_config({8}), request, {{20, 18}});
  }
  SECTION("frames, statistics frame by frame") {
    ProfileRequest request = asked({}, {{12, 12}});
    request.frames = 3;
    check_predicted(test::tiny_causal_config(), request, {{12, 8}});
  }
}

TEST_CASE("a size that a GPU cannot decode untiled is named before anything is measured") {
  const auto refused = [](const Model& model, const ProfileRequest& request, int64_t card_bytes,
                          const std::string& words) {
    EmulatedGpu gpu(card_bytes);
    std::exception_ptr thrown;
    try {
      collect_profile(
          model, request, test::random_source(kSeed),
          [](double, double, const std::string&) { FAIL("measured"); }, &gpu);
    } catch (const std::exception& error) {
      CHECK_THAT(error.what(), Catch::Contains(words));
      thrown = std::current_exception();
    }
    REQUIRE(thrown);
    CHECK(gpu.calls() == 0);
    CHECK(gpu.reservations() == 0);
    return thrown;
  };
  const Model tiny = test::model_of(test::tiny_config());
  start_libraries(2);
  // Untiled decodes have room, but not beside all that latency tables are measured on.
  CHECK_THROWS_AS(std::rethrow_exception(
                      refused(tiny, asked(tiny, {{16, 16}}), int64_t{64} << 20, "--sizes: latency tables")),
                  DoesNotFit);
  CHECK_THROWS_AS(std::rethrow_exception(refused(tiny, asked(tiny, {{16, 16}, {64, 48}}), 9 << 20,
                                                 "64x48: untiled decodes take")),
                  DoesNotFit);
  const Model sdxl = resolve_model("sdxl");
  CHECK_THROWS_AS(std::rethrow_exception(refused(sdxl, asked(sdxl, {{512, 512}, {8192, 4096}}, Dtype::bf16),
                                                 int64_t{1} << 40, "8192x4096, untiled: passes[")),
                  InputError);
  // Each size has few values enough, but latency tables go up to the height of one and the width of the
  // other.
  CHECK_THROWS_AS(std::rethrow_exception(refused(sdxl, asked(sdxl, {{8192, 256}, {256, 8192}}, Dtype::bf16),
                                                 int64_t{1} << 40,
                                                 "--sizes: latency tables up to these sizes need a tile of")),
                  DoesNotFit);
}

TEST_CASE("headroom-plan makes plans for cuda by a profile of a GPU, and for nothing else") {
  const test::Scratch scratch;
  const std::string folder = test::write_model(scratch / "model", test::tiny_config(), 1);
  const Model model = resolve_model(folder);
  Measured measured;
  const std::string file = scratch.write(
      "profile.json", to_json(measured.profile(model, asked(model, {{16, 16}}, Dtype::bf16))).dump());
  const auto plan = [&](const test::Words& words) {
    return test::call(planner::run_plan,
                      test::joined({"--model", folder, "--profile", file, "--size", "24x16", "--limit",
                                    "256MiB", "-o", scratch / "plan.json", "--json"},
                                   words));
  };
  const test::Ended ended = plan({"--device", "cuda", "--dtype", "bf16", "--host-limit", "1GiB"});
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  const json made = json::parse(ended.out);
  CHECK(made["assumed"] == false);
  CHECK(made["environment"]["device"] == "emulated GPU");
  CHECK(made["environment"]["libraries"] == "emulator");
  test::require_refused(plan({"--dtype", "bf16"}), 2,
                        {"profile.json: device: measured on cuda", "emulated GPU", "for cpu"});
  test::require_refused(plan({"--device", "cuda", "--dtype", "fp16"}), 2, {"profile.json: dtype", "bf16"});
  const std::string other = test::write_model(scratch / "other", test::tiny_config({8}), 1);
  test::require_refused(plan({"--device", "cuda", "--dtype", "bf16", "--model", other}), 2, {});

  Measured again;
  ProfileRequest rounded = asked(model, {{16, 16}});
  rounded.tf32.convolutions = true;
  scratch.write("profile.json", to_json(again.profile(model, rounded)).dump());
  CHECK(plan({"--device", "cuda", "--tf32=convolutions"}).code == 0);
  test::require_refused(plan({"--device", "cuda"}), 2,
                        {"profile.json: tf32: measured in fp32 with TF32 in convolutions, the plan is for "
                         "fp32: expected a profile of headroom-profile without --tf32"});
}

}  // namespace
}  // namespace headroom::profiler
