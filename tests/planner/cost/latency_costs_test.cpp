#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "decoder/base/errors.h"
#include "decoder/base/os/whole_file.h"
#include "decoder/families/load_model.h"
#include "decoder/graph/geometry.h"
#include "decoder/plan/plan_file.h"
#include "decoder/schedule/build_plan.h"
#include "decoder/schedule/lowering.h"
#include "decoder/schedule/storage.h"
#include "decoder/schedule/tiles.h"
#include "planner/cost/cost_model.h"
#include "planner/cost/profile_check.h"
#include "planner/cost/seconds_range.h"
#include "planner/program/run.h"
#include "planner/search/make_plan.h"
#include "planner/search/plan_space.h"
#include "profiler/profile/profile_file.h"
#include "tests/decoder/files/scratch.h"
#include "tests/support/causal_attention.h"
#include "tests/support/program.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_model.h"

namespace headroom::planner {
namespace {

using test::Random;
using test::request_for;

profiler::LatencyTable latency_table_for(const std::string& name, Random& random) {
  profiler::LatencyTable latency_table{name, {1, 4, 16, 64}, {4, 32, 128}, {}, {}, 0, 0};
  const double fixed = random.uniform(1e-6, 1e-4), row = random.uniform(0, 1e-5),
               position = random.uniform(1e-9, 1e-6);
  for (int64_t y : latency_table.rows) {
    for (int64_t x : latency_table.columns)
      latency_table.seconds.push_back(fixed + row * double(y) + position * double(y * x));
  }
  latency_table.workspace_bytes.assign(latency_table.seconds.size(), 1 << 16);
  return latency_table;
}

/// An invented profile of a model on this machine, at one size.
profiler::Profile profile_of(const Model& model, int64_t width, int64_t height, Random& random) {
  const Graph& graph = model.graph;
  profiler::Profile profile;
  profile.model = "a model";
  std::ifstream in("/proc/cpuinfo");
  std::string line;
  while (std::getline(in, line) && line.rfind("model name", 0) != 0) {
  }
  profile.device = line.substr(line.find(": ") + 2) + ", 2 threads";
  profile.libraries = "libraries";
  profile.threads = 2;
  profile.weights_bytes_per_second = 1e8;
  profile.weights_source = "random";
  profile.sizes = {{width, height, 1, 1, 1, 1, "", {}}};
  const Extent latent = latent_extent(model, width, height, 1);
  const auto add_latency_table = [&](const std::string& name) {
    if (profile.find_latency_table(name) == nullptr)
      profile.latency_tables.push_back(latency_table_for(name, random));
  };
  add_latency_table(profiler::moving_latency_table_name("gather", graph.tensor(graph.input()).channels));
  for (const Op& op : graph.ops()) {
    for (ConvolutionAlgorithm algorithm : {ConvolutionAlgorithm::direct, ConvolutionAlgorithm::winograd})
      add_latency_table(profiler::latency_table_name(graph, op, algorithm));
    if (op.kind != OpKind::statistics) {
      for (const char* step : {"gather", "store", "accumulate", "emit"})
        add_latency_table(profiler::moving_latency_table_name(step, graph.tensor(op.output).channels));
    }
    profile.layers.push_back({op.name,
                              name_of(op.kind),
                              {{bytes_of(graph.tensor(op.output), latent, 1, Dtype::fp32), 0, 0, 0.1, 1}},
                              profiler::latency_table_name(graph, op, ConvolutionAlgorithm::winograd)});
  }
  return profile;
}

/// Makes tables of this kind of call cheaper per position at their last rows.
profiler::Profile changing(profiler::Profile profile, const std::string& kind) {
  for (profiler::LatencyTable& table : profile.latency_tables) {
    const bool winograd = kind == "conv" && table.name.find("winograd") != std::string::npos;
    if (table.name.rfind(kind, 0) != 0 && !winograd) continue;
    const size_t width = table.columns.size();
    for (size_t i = table.seconds.size() - width; i < table.seconds.size(); ++i)
      table.seconds[i] = table.seconds[i - width] + 0.4 * (table.seconds[i] - table.seconds[i - width]);
  }
  return profile;
}

TEST_CASE("a pass costs what its tiles cost, each at its own extent") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{20}));
  CAPTURE(seed);
  Random random(seed);
  const Model model = test::model_of(test::random_config(random));
  const int64_t batch = random.integer(1, 2);
  const Request request = request_for(model, {1, random.integer(6, 30), random.integer(6, 30)}, batch);
  const profiler::Profile profile = profile_of(model, 64, 64, random);
  const CostModel costs(model.graph, profile, request);
  const test::RandomPlan drawn = test::random_plan(model, request, batch, {}, costs.memory(), random);
  const Sizes sizes = sizes_of(model.graph, drawn.plan);
  for (size_t p = 0; p < drawn.plan.passes.size(); ++p) {
    const Pass& pass = drawn.plan.passes[p];
    double sum = 0, recomputed = 0;
    for (const Step& step : pass.steps) {
      Step sized = step;
      if (step.kind == OpKind::statistics) sized.tensor = step.inputs[0].tensor;
      std::string name;
      if (step.kind == OpKind::gather || step.kind == OpKind::store || step.kind == OpKind::emit ||
          step.kind == OpKind::accumulate) {
        name =
            profiler::moving_latency_table_name(name_of(step.kind), model.graph.tensor(step.tensor).channels);
      } else {
        name =
            profiler::latency_table_name(model.graph, model.graph.op(step.op), pass.convolutions.of(step.op));
      }
      const profiler::LatencyTable& latency_table = *profile.find_latency_table(name);
      for (const Interval& y : pass.tiles.y) {
        for (const Interval& x : pass.tiles.x) {
          Region made = tile_region(model.graph, pass, sized, {pass.tiles.t[0], y, x}, sizes.latent);
          made.y = tile_axis(model.graph, pass, sized, sized.tensor, Axis::y, sizes.latent).made(y);
          if (made.y.length() == 0) continue;
          const Extent extent = extent_of(made);
          if (step.kind == OpKind::attention) {
            const double keys =
                double(profiler::latency_table_extent(model.graph, model.graph.op(step.op), sizes.latent).x);
            sum += double(batch) * latency_table.seconds_at(double(positions(extent)), keys);
          } else {
            sum += latency_table.seconds_at(double(extent.y * batch), double(extent.x));
          }
        }
      }
      recomputed += costs.step_seconds(pass, step, drawn.decisions[p].tile, sizes);
    }
    CAPTURE(p, pass.name);
    // Inner tiles are clipped only if halos exceed a whole tile. With odd tiles, images differ by one
    // position.
    CHECK(recomputed == Approx(sum).epsilon(0.15));
    CHECK(costs.pass_seconds(pass, drawn.decisions[p].tile, sizes) == Approx(recomputed));
    for (const Step& step : pass.steps) {
      if (step.op == OpId{-1}) continue;
      CHECK(costs.step_seconds(pass, step, drawn.decisions[p].tile, sizes) >=
            costs.least_seconds(step.op, sizes) * (1 - 1e-9));
    }
  }
}

/// Checks attention in a random plan of a random clip. Returns the number of steps checked.
int check_attention_by_frame(uint64_t seed) {
  CAPTURE(seed);
  Random random(seed);
  const Model model = test::causal_attention_model(8, random.chance(0.5));
  const int64_t batch = random.integer(1, 2);
  const Extent latent{random.integer(1, 7), random.integer(4, 12), random.integer(4, 12)};
  const Request request = request_for(model, latent, batch);
  const profiler::Profile profile = profile_of(model, 64, 64, random);
  const CostModel costs(model.graph, profile, request);
  const test::RandomPlan drawn = test::random_plan(model, request, batch, {}, costs.memory(), random);
  const Sizes sizes = sizes_of(model.graph, drawn.plan);
  int checked = 0;
  for (size_t p = 0; p < drawn.plan.passes.size(); ++p) {
    const Pass& pass = drawn.plan.passes[p];
    for (const Step& step : pass.steps) {
      if (step.kind != OpKind::attention || step.halo != Halo{}) continue;
      ++checked;
      const Op& op = model.graph.op(step.op);
      const profiler::LatencyTable& table =
          *profile.find_latency_table(profiler::latency_table_name(model.graph, op));
      double sum = 0, flops = 0;
      for (const Interval& y : pass.tiles.y) {
        for (const Interval& x : pass.tiles.x) {
          const Region region = tile_region(model.graph, pass, step, {{0, 1}, y, x}, latent);
          const auto queries = double(region.y.length() * region.x.length());
          for (int64_t t = 0; t < latent.t; ++t) {
            const auto keys = double((t + 1) * latent.y * latent.x);
            sum += double(batch) * table.seconds_at(queries, keys);
            flops += double(batch) * 4 * queries * keys * 8;
          }
        }
      }
      const Extent& tile = drawn.decisions[p].tile;
      CHECK(costs.step_seconds(pass, step, tile, sizes) == Approx(sum));
      CHECK(costs.least_seconds(step.op, sizes) <= sum * (1 + 1e-9));
      CHECK(profiler::latency_table_extent(model.graph, op, latent) ==
            Extent{1, latent.y * latent.x, positions(latent)});
      Pass alone = pass;
      alone.steps = {step};
      CHECK(pass_flops(model.graph, alone, tile, sizes) == Approx(flops));
    }
  }
  return checked;
}

TEST_CASE("attention with all frames before costs each frame's queries the keys of the frames up to it") {
  int checked = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) checked += check_attention_by_frame(seed);
  CHECK(checked > 5);
}

TEST_CASE("a plan by latency tables says what they hold for, and counts the weights") {
  Random random(7);
  const Model model = test::model_of(test::tiny_config());
  const Request request = request_for(model, {1, 20, 24});
  const profiler::Profile profile = profile_of(model, 32, 32, random);
  const Plan plan = make_plan({model,
                               request,
                               {.limit_bytes = int64_t{1} << 30, .weights = WeightResidency::resident},
                               CostModel(model.graph, profile, request)})
                        .value();
  CHECK_FALSE(plan.assumed);
  CHECK(plan.environment == Environment{profile.device, profile.libraries});
  double seconds = double(resident_weights_bytes(model.graph, {})) / 1e8;
  for (const Pass& pass : plan.passes) seconds += pass.predicted_seconds;
  CHECK(plan.predicted_seconds == Approx(seconds));
}

TEST_CASE("headroom-plan refuses a profile that is not of this model, dtype, machine or range") {
  Random random(8);
  const test::Scratch scratch;
  scratch.write("config.json", test::tiny_config().dump());
  const std::string model_folder = scratch.folder().string();
  const Model model = resolve_model(model_folder);
  const auto planned = [&](const profiler::Profile& profile, const std::vector<std::string>& more = {},
                           const std::string& size = "48x40") {
    write_file_whole(scratch / "profile.json", to_json(profile).dump());
    return test::call(run_plan, test::joined({"--model", model_folder, "--profile", scratch / "profile.json",
                                              "--size", size, "--limit", "4GiB", "-o", scratch / "plan.json"},
                                             more));
  };
  const profiler::Profile good = profile_of(model, 32, 32, random);
  CHECK(planned(good).code == 0);
  test::require_refused(planned(good, {"--dtype", "bf16"}), 2, {"profile.json: dtype", "bf16", "fp32"});

  profiler::Profile other = good;
  other.layers.pop_back();
  test::require_refused(planned(other), 2, {"profile.json: layers", "another model"});
  other = good;
  other.layers[3].name += "x";
  test::require_refused(planned(other), 2, {"profile.json: layers[3]", model.graph.ops()[3].name});
  other = good;
  other.layers[3].latency_table = other.layers[0].latency_table;
  test::require_refused(planned(other), 2, {"profile.json: layers[3]"});
  other = good;
  other.layers[3].sizes[0].activation_bytes *= 2;
  test::require_refused(planned(other), 2, {"profile.json: layers[3]", "activation_bytes at 32x32"});
  other = good;
  std::erase_if(other.latency_tables, [](const auto& table) { return table.name.starts_with("emit "); });
  test::require_refused(planned(other), 2, {"profile.json: latency_tables: expected one named \"emit "});

  other = good;
  other.device = "Another Processor, 64 threads";
  test::require_refused(planned(other), 2,
                        {"profile.json: device", "Another Processor, 64 threads", "--other-environment"});
  CHECK(planned(other, {"--other-environment"}).code == 0);

  // The cost per position is still changing at 64x128 positions. The planner can avoid large tiles of
  // convolutions. Attention always has all keys, so a plan with far more keys than profiled is rejected.
  CHECK(planned(changing(good, "conv")).code == 0);
  CHECK(planned(changing(good, "conv"), {}, "1024x1024").code == 0);
  test::require_refused(
      planned(changing(good, "attention"), {}, "1024x1024"), 2,
      {"profile.json: layers[", "measured from 4 to 8192 positions", "still changes", "near 1024x1024"});
  CHECK(planned(good, {}, "1024x1024").code == 0);
}

TEST_CASE("tiles of which a profile says nothing are left out of the plan space") {
  Random random(9);
  const Model model = test::model_of(test::tiny_config());
  const Request request = request_for(model, {1, 256, 256});
  const auto largest_call = [&](const profiler::Profile& profile) {
    const CostModel costs(model.graph, profile, request);
    const Plan plan = make_plan({model, request, {.limit_bytes = int64_t{1} << 40}, costs}).value();
    CHECK_NOTHROW(check_profiled_range(profile, "profile.json", model.graph, plan));
    double most = 0;
    for (const Pass& pass : plan.passes) {
      for (const Step& step : pass.steps) {
        if (step.op == OpId{-1} || model.graph.op(step.op).kind != OpKind::conv) continue;
        const Extent tile{pass.tiles.t[0].length(), pass.tiles.y[0].length(), pass.tiles.x[0].length()};
        most = std::max(
            most,
            double(positions(largest_tile(model.graph, pass, step, tile, sizes_of(model.graph, plan)))));
      }
    }
    return most;
  };
  profiler::Profile good = profile_of(model, 32, 32, random);
  // Wide tiles are cheapest: rows are expensive, positions almost free.
  for (profiler::LatencyTable& table : good.latency_tables) {
    for (size_t i = 0; i < table.seconds.size(); ++i)
      table.seconds[i] = 1e-3 + 1e-9 * double(table.rows[i / table.columns.size()] *
                                              table.columns[i % table.columns.size()]);
  }
  const double seen = 64 * 128;
  CHECK(largest_call(good) > 4 * seen);
  CHECK(largest_call(changing(good, "conv")) <= 4 * seen);
}

TEST_CASE("a plan's seconds have a range by how precisely the profile was measured") {
  Random random(10);
  const Model model = test::model_of(test::tiny_config());
  const Request request = request_for(model, {1, 20, 24});
  const auto planned = [&](const CostModel& costs) {
    return make_plan({model, request, {.limit_bytes = int64_t{1} << 30}, costs}).value();
  };
  const auto width_of = [](const Plan& plan) {
    CHECK(plan.predicted_seconds_low < plan.predicted_seconds);
    CHECK(plan.predicted_seconds_high > plan.predicted_seconds);
    return (plan.predicted_seconds_high - plan.predicted_seconds_low) / plan.predicted_seconds;
  };
  profiler::Profile profile = profile_of(model, 32, 32, random);
  profile.precision = {0.05, 1000, 0, 0, 1};
  const Plan precise_plan = planned(CostModel(model.graph, profile, request));
  CHECK_THAT(seconds_text(precise_plan), Catch::Contains(" to "));
  const double precise = width_of(precise_plan);
  profiler::Profile noisy = profile;
  for (profiler::LatencyTable& table : noisy.latency_tables) table.relative_error = 0.3;
  const Plan wide = planned(CostModel(model.graph, noisy, request));
  CHECK(width_of(wide) > precise);
  noisy.precision.waited_share = 0.4;
  CHECK(width_of(planned(CostModel(model.graph, noisy, request))) > width_of(wide));
  // Plan files store the range. Without a profile there is no range.
  const nlohmann::json document = to_json(wide, model.graph);
  CHECK(document["predicted"]["seconds_low"] == wide.predicted_seconds_low);
  CHECK(plan_from_json(JsonFields(document, "plan.json"), model.graph) == wide);
  const Plan assumed = planned(CostModel(model.graph));
  CHECK(assumed.predicted_seconds_high == 0);
  CHECK_FALSE(to_json(assumed, model.graph)["predicted"].contains("seconds_low"));
  CHECK_THAT(seconds_text(assumed), !Catch::Contains(" to "));
}

}  // namespace
}  // namespace headroom::planner
