#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "decoder/families/load_model.h"
#include "decoder/graph/geometry.h"
#include "decoder/operations/operation.h"
#include "planner/cost/latency_lookup.h"
#include "planner/program/run.h"
#include "profiler/profile/profile_file.h"
#include "profiler/program/run.h"
#include "tests/support/gpu.h"
#include "tests/support/model_folder.h"
#include "tests/support/program.h"
#include "tests/support/reported.h"
#include "tests/support/tiny_model.h"

namespace headroom::profiler {
namespace {

using nlohmann::json;
using test::call;
using test::Ended;
using test::joined;
using test::require_refused;
using test::Scratch;
using test::Words;

/// Tests share the machine with others, and what they measure is not what they are about.
const Words kWhateverElseRuns{"--accept-noise"};

TEST_CASE("profiling a tiny model gives every layer at every size") {
  const Scratch scratch;
  const std::string model = test::write_model(scratch / "model", test::tiny_config(), 1);
  const std::string file = scratch / "profile.json", csv = scratch / "layers.csv";
  const Words words{"--model", model, "--sizes",   "16x8,24x24", "-o",        file,
                    "--csv",   csv,   "--repeats", "1",          "--threads", "2"};
  const Ended ended = call(run_profile, joined(words, kWhateverElseRuns));
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  CHECK_THAT(ended.out, Catch::Contains("16x8") && Catch::Contains("24x24"));
  CHECK(scratch.files() == std::vector<std::string>{"layers.csv", "model", "profile.json"});

  const Profile profile = read_profile(file);
  const Graph graph = resolve_model(model).graph;
  CHECK(profile.model == model);
  CHECK_THAT(profile.device, Catch::Contains("2 threads"));
  CHECK_THAT(profile.libraries, Catch::Contains("Headroom"));
  CHECK(profile.weights_bytes >= parameter_elements(graph) * 4);
  REQUIRE(profile.sizes.size() == 2);
  REQUIRE(profile.layers.size() == graph.ops().size());
  const Extent latents[2] = {{1, 4, 8}, {1, 12, 12}};
  for (size_t i = 0; i < profile.layers.size(); ++i) {
    const LayerProfile& layer = profile.layers[i];
    CAPTURE(layer.name);
    CHECK(layer.name == graph.ops()[i].name);
    CHECK(layer.kind == name_of(graph.ops()[i].kind));
    REQUIRE(layer.sizes.size() == 2);
    for (size_t s = 0; s < 2; ++s) {
      const LayerMeasurement& measured = layer.sizes[s];
      CHECK(measured.activation_bytes ==
            bytes_of(graph.tensor(graph.ops()[i].output), latents[s], 1, Dtype::fp32));
      CHECK(measured.live_bytes >= profile.weights_bytes);
      CHECK(measured.live_bytes <= profile.sizes[s].peak_bytes);
      CHECK(measured.workspace_bytes >= 0);
      CHECK(measured.seconds >= 0);
    }
  }
  CHECK(profile.threads == 2);
  CHECK(profile.weights_bytes_per_second > 0);
  CHECK(profile.transform_bytes_per_second > 0);
  CHECK(profile.weights_source == "files");
  // Every layer has its latency table, and so has every step that a plan can have.
  for (size_t i = 0; i < profile.layers.size(); ++i) {
    const LatencyTable* latency_table = profile.find_latency_table(profile.layers[i].latency_table);
    REQUIRE(latency_table != nullptr);
    CHECK(latency_table->name == latency_table_name(graph, graph.ops()[i], ConvolutionAlgorithm::winograd));
    const Extent largest = latency_table_extent(graph, graph.ops()[i], latents[1]);
    CHECK(latency_table->rows.back() >= largest.y);
    CHECK(latency_table->columns.back() >= largest.x);
  }
  CHECK(planner::LatencyLookup(graph, profile).missing().empty());
  for (const LatencyTable& latency_table : profile.latency_tables) {
    CAPTURE(latency_table.name);
    CHECK(latency_table.seconds_at(3, 5) > 0);
    if (latency_table.name.rfind("winograd", 0) == 0) CHECK(latency_table.workspace_bytes.back() > 0);
    if (latency_table.name.rfind("conv", 0) == 0) CHECK(latency_table.workspace_bytes.back() == 0);
    if (latency_table.name.rfind("gather", 0) == 0) CHECK(latency_table.workspace_bytes.back() == 0);
  }
  for (const ProfiledSize& size : profile.sizes) {
    CHECK(size.peak_bytes > profile.weights_bytes);
    CHECK(graph.find_tensor(size.peak_layer) != TensorId{-1});
    REQUIRE_FALSE(size.peak_live.empty());
    for (size_t i = 1; i < size.peak_live.size(); ++i)
      CHECK(size.peak_live[i - 1].bytes >= size.peak_live[i].bytes);
  }
  const std::string table = test::read_bytes(csv);
  CHECK(std::count(table.begin(), table.end(), '\n') == static_cast<int64_t>(1 + 2 * graph.ops().size()));

  // The planner takes it, and no longer assumes.
  const Ended planned = call(planner::run_plan, {"--model", model, "--profile", file, "--size", "32x24",
                                                 "--limit", "64MiB", "-o", scratch / "plan.json", "--json"});
  INFO(planned.err);
  REQUIRE(planned.code == 0);
  CHECK(json::parse(planned.out)["assumed"] == false);
  require_refused(call(planner::run_plan, {"--model", model, "--profile", file, "--size", "32x24", "--limit",
                                           "64MiB", "--dtype", "bf16", "-o", scratch / "other.json"}),
                  2, {"profile.json: dtype", "bf16"});
}

TEST_CASE("a built-in model in any spelling gets random weights") {
  const Scratch scratch;
  const std::string file = scratch / "profile.json";
  const Ended ended =
      call(run_profile,
           joined({"--model", "TAE-SD", "--sizes", "16x16", "-o", file, "--quiet"}, kWhateverElseRuns));
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  CHECK(read_profile(file).weights_source == "random");
}

TEST_CASE("a model's name that is not UTF-8 is refused before anything is measured") {
  const Scratch scratch;
  const std::string model = test::write_model(scratch / "m\xff", test::tiny_config(), 1);
  const Ended ended =
      call(run_profile,
           joined({"--model", model, "--sizes", "16x8", "-o", scratch / "p.json", "--progress", "lines"},
                  kWhateverElseRuns));
  CHECK(ended.code == 2);
  CHECK_THAT(ended.err, Catch::Contains("expected UTF-8, found 0xFF") && !Catch::Contains("\"work\""));
  CHECK(scratch.files() == std::vector<std::string>{"m\xff"});
}

TEST_CASE("with --json it prints the profile alone on standard output") {
  const Scratch scratch;
  const std::string model = test::write_model(scratch / "model", test::tiny_config({8}), 1);
  const Ended ended = call(run_profile, {"--model", model, "--sizes", "8x8", "--batch", "2", "-o",
                                         scratch / "profile.json", "--accept-noise", "--json"});
  REQUIRE(ended.code == 0);
  const json document = json::parse(ended.out);
  CHECK(document["schema"] == "headroom.profile");
  CHECK(document["sizes"][0]["batch"] == 2);
  CHECK(document == read_json_file(scratch / "profile.json", 1 << 24));
}

TEST_CASE("a profile in 16 bits serves plans in 16 bits") {
  const Scratch scratch;
  const std::string model = test::write_model(scratch / "model", test::tiny_config({8}), 1);
  const std::string file = scratch / "profile.json";
  const Ended ended = call(run_profile, {"--model", model, "--sizes", "16x16", "--dtype", "bf16", "-o", file,
                                         "--accept-noise", "--quiet"});
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  const Graph graph = resolve_model(model).graph;
  const Profile profile = read_profile(file);
  CHECK(profile.dtype == Dtype::bf16);
  for (const LayerProfile& layer : profile.layers) {
    const Tensor& made = graph.tensor(graph.op(graph.find_op(layer.name)).output);
    CHECK(layer.sizes[0].activation_bytes == bytes_of(made, {1, 16, 16}, 1, Dtype::bf16));
  }
  const Words asked{"--model", model,   "--profile", file,   "--size", "16x16",
                    "--limit", "64MiB", "--dtype",   "bf16", "-o",     scratch / "plan.json",
                    "--json"};
  const Ended planned = call(planner::run_plan, asked);
  INFO(planned.err);
  REQUIRE(planned.code == 0);
  CHECK(json::parse(planned.out)["assumed"] == false);
}

TEST_CASE("a profile of an encoder serves plans of encodes, and these are run and recorded") {
  const Scratch scratch;
  json config = test::tiny_config({8});
  config["in_channels"] = 3;
  const std::string model = test::write_model(scratch / "model", config, 1);
  const std::string file = scratch / "profile.json", plan = scratch / "plan.json";
  const Words encode{"--model", model, "--direction", "encode"};
  const Ended ended = call(
      run_profile,
      joined(encode, joined({"--random-weights", "0", "--sizes", "16x16", "-o", file}, kWhateverElseRuns)));
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  const Profile profile = read_profile(file);
  CHECK(profile.direction == Direction::encode);
  CHECK(profile.layers.size() == for_direction(resolve_model(model), Direction::encode).graph.ops().size());
  const Words by_profile{"--size", "16x16", "--limit", "64MiB", "--profile", file, "-o", plan, "--json"};
  const Ended planned = call(planner::run_plan, joined(encode, by_profile));
  INFO(planned.err);
  REQUIRE(planned.code == 0);
  CHECK(json::parse(planned.out)["assumed"] == false);
  const Ended ran = call(
      run_profile, {"--plan", plan, "--model", model, "--random-weights", "0", "-o", scratch / "trace.json"});
  INFO(ran.err);
  CHECK(ran.code == 0);

  require_refused(call(planner::run_plan, joined({"--model", model}, by_profile)), 2,
                  {"profile.json: direction: measured encode, the plan is to decode"});
}

TEST_CASE("a plan is run and recorded") {
  const Scratch scratch;
  const std::string model = test::write_model(scratch / "model", test::tiny_config({8}), 1);
  const std::string plan = scratch / "plan.json", trace = scratch / "trace.json";
  REQUIRE(
      call(planner::run_plan, {"--model", model, "--size", "24x16", "--limit", "64MiB", "-o", plan}).code ==
      0);
  const Ended ended = call(run_profile, {"--plan", plan, "--model", model, "--trace", trace});
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  CHECK(read_json_file(trace, 1 << 24)["schema"] == "headroom.trace");
  CHECK(scratch.files() == std::vector<std::string>{"model", "plan.json", "trace.json"});

  std::filesystem::remove(trace);
  const auto refused = [&](const Words& words, const std::vector<std::string>& parts) {
    require_refused(call(run_profile, joined({"--model", model}, words)), 2, parts);
    CHECK(scratch.files() == std::vector<std::string>{"model", "plan.json"});
  };
  refused({"--plan", plan}, {"--output"});
  refused({"--plan", plan, "-o", trace, "--trace", trace}, {"--trace"});
  refused({"--plan", plan, "-o", trace, "--sizes", "8x8"}, {"--sizes"});
  refused({"--plan", plan, "-o", trace, "--latent", "none.npy"}, {"none.npy"});
  refused({"--plan", scratch / "model/config.json", "-o", trace}, {"config.json", "schema"});
  refused({"--plan", plan, "-o", trace, "--watch", ""}, {"--watch: expected all, none or a list"});
  refused({"--plan", plan, "-o", trace, "--watch", "kernels,dances"},
          {"--watch: expected all, none or some of allocator, kernels", "found 'dances'"});
  refused({"--plan", plan, "-o", trace, "--device", "cuda"},
          {"--device: ", "is planned for cpu, found cuda"});
  refused({"--sizes", "8x8", "-o", trace, "--device", "torch"},
          {"PyTorch's executor", "expected a plan for cpu or cuda"});
  refused({"--plan", plan, "-o", trace, "--csv", "layers.csv"}, {"--csv"});
  refused({"--sizes", "8x8", "-o", trace, "--trace", trace}, {"--trace"});
}

TEST_CASE("with --progress lines it tells how far it is") {
  const Scratch scratch;
  const std::string model = test::write_model(scratch / "model", test::tiny_config({8}), 1);
  const std::string plan = scratch / "plan.json", output = scratch / "out.json";
  REQUIRE(
      call(planner::run_plan, {"--model", model, "--size", "24x16", "--limit", "64MiB", "-o", plan}).code ==
      0);
  const auto lines_of = [&](const Words& words) {
    const Ended ended =
        call(run_profile, joined({"--model", model, "-o", output, "--progress", "lines"}, words));
    INFO(ended.err);
    REQUIRE(ended.code == 0);
    const test::Reported lines = test::told(ended.err);
    CHECK(lines.messages.empty());
    const auto begun = std::get<RunBegun>(lines.events.front().news);
    CHECK(begun.program == "headroom-profile");
    CHECK(begun.model == model);
    CHECK(begun.output == output);
    return lines;
  };
  const test::Reported measured = lines_of(joined({"--sizes", "8x8,16x16"}, kWhateverElseRuns));
  double share = 0;
  for (const WorkDone& work : measured.news<WorkDone>()) {
    CHECK(work.share >= share);
    CHECK_FALSE(work.what.empty());
    share = work.share;
  }
  CHECK(share > 0.9);
  CHECK(std::get<RunEnded>(measured.events.back().news) == RunEnded{});

  const test::Reported recorded = lines_of({"--plan", plan});
  CHECK(std::get<RunBegun>(recorded.events.front().news).width_pixels == 24);
  REQUIRE_FALSE(recorded.news<TileDone>().empty());
  CHECK(recorded.news<TileDone>().back().share == 1);
  CHECK_FALSE(recorded.news<MemorySample>().empty());
  CHECK(std::get<RunEnded>(recorded.events.back().news).peak_bytes > 0);
}

TEST_CASE("without a GPU profiling one ends with 5 and one line, with one it is profiled") {
  const Scratch scratch;
  const std::string model = test::write_model(scratch / "model", test::tiny_config({8}), 1);
  const std::string file = scratch / "profile.json";
  const Words words{"--model", model, "--sizes", "8x8", "--device", "cuda", "-o", file, "--repeats", "1"};
  std::string why;
  const bool gpu = test::gpu_if_any(why) != nullptr;
  // Before anything else is looked at.
  const Words broken{"--model", "none", "--sizes", "8x8", "--device", "cuda", "-o", file};
  if (!gpu) {
    require_refused(call(run_profile, words), 5, {"headroom-profile: ", "CUDA"});
    require_refused(call(run_profile, broken), 5, {"headroom-profile: ", "CUDA"});
    CHECK(scratch.files() == std::vector<std::string>{"model"});
    return;
  }
  const Ended ended = call(run_profile, words);
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  CHECK(read_profile(file).device_kind == DeviceKind::cuda);
  require_refused(call(run_profile, joined(words, {"--scratch", scratch / "model"})), 2, {"--scratch"});
}

TEST_CASE("help, version and bad usage") {
  CHECK_THAT(call(run_profile, {"--help"}).out, Catch::Contains("--sizes") && Catch::Contains("--csv"));
  CHECK(call(run_profile, {"--version"}).out == std::string("headroom-profile ") + HEADROOM_VERSION + "\n");
  const Scratch scratch;
  const std::string out = scratch / "p.json";
  const std::string model = test::write_model(scratch / "model", test::tiny_config({8}), 1);
  const auto refused = [&](const Words& words, int code, const std::vector<std::string>& parts) {
    require_refused(call(run_profile, joined({"-o", out}, words)), code, parts);
    CHECK(scratch.files() == std::vector<std::string>{"model"});
  };
  refused({"--model", model}, 2, {"--sizes"});
  refused({"--sizes", "8x8"}, 2, {"--model"});
  refused({"--model", model, "--sizes", "8x8,"}, 2, {"--sizes"});
  refused({"--model", model, "--sizes", "8x8", "--scratch", scratch / "none"}, 2, {"--scratch", "none"});
  refused({"--model", "sdxl", "--sizes", "8x9"}, 2, {"multiple of 8"});
  refused({"--model", model, "--sizes", "8x8", "--dtype", "int4"}, 2, {"dtype"});
  refused({"--model", model, "--sizes", "8x8", "--tf32"}, 2, {"--tf32: TF32 needs fp32 on cuda"});
  refused({"--model", model, "--sizes", "8x8", "--device", "tpu"}, 2, {"--device"});
  refused({"--model", "none", "--sizes", "8x8"}, 2, {"none"});
  std::filesystem::remove(scratch / "model/diffusion_pytorch_model.safetensors");
  refused({"--model", model, "--sizes", "8x8"}, 2, {"diffusion_pytorch_model"});
}

}  // namespace
}  // namespace headroom::profiler
