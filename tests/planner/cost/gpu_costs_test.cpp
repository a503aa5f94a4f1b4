#include "planner/cost/gpu_costs.h"

#include <catch2/catch.hpp>
#include <limits>
#include <numeric>

#include "decoder/families/load_model.h"
#include "decoder/schedule/lowering.h"
#include "decoder/schedule/tiles.h"
#include "planner/cost/cost_model.h"
#include "planner/cost/gpu_work.h"
#include "planner/search/make_plan.h"
#include "tests/support/random.h"

namespace headroom::planner {
namespace {

constexpr double kKernel = 2e-6, kPass = 10e-6, kL2 = 5.5e12, kDram = 3e12, kConvolutions = 780e12;

/// A step of a pass. `made_by` names the earlier steps whose tiles it reads.
Step step_of(const Graph& graph, const char* op, OpKind kind, std::vector<int32_t> made_by = {}) {
  const OpId id = graph.find_op(op);
  Step step{.kind = kind, .op = id, .tensor = graph.op(id).output};
  for (TensorId input : graph.op(id).inputs) step.inputs.push_back({input, -1});
  for (size_t i = 0; i < made_by.size(); ++i) step.inputs[i].step = made_by[i];
  return step;
}

/// A pass at the scale of the tensor that its first step iterates over.
Pass pass_of(const Graph& graph, std::vector<Step> steps) {
  Pass pass;
  pass.scale = graph.tensor(measured_tensor(steps.front())).scale;
  pass.steps = std::move(steps);
  return pass;
}

struct Picture {
  int64_t rows = 128, columns = 128;
  Dtype dtype = Dtype::bf16;
  int64_t items = 1;
  Tf32 tf32{};
  Sizes sizes() const { return {{1, rows, columns}, items, dtype, DeviceKind::cuda, std::nullopt, tf32}; }
};

/// Seconds of a pass with tiles of `tile_rows` grid rows, without the fixed cost of a pass.
double seconds(const Graph& graph, const Pass& pass, const Picture& picture, int64_t tile_rows = 1 << 20) {
  const Extent tile{1, std::min(tile_rows, picture.rows * pass.scale.y), picture.columns * pass.scale.x};
  return GpuCosts(graph, {}).pass_seconds(pass, tile, picture.sizes()) - kPass;
}

/// Convolutions with the channel counts of real decoders, and other slow operations.
struct Operations {
  Graph graph;
  Operations() {
    const TensorId latent = graph.add_latent(4);
    const TensorId wide = graph.conv("conv 4 512", latent, 512, {1, 3, 3});
    const TensorId wider = graph.conv("conv 512 512", wide, 512, {1, 3, 3});
    const TensorId point = graph.conv("point 512 512", wider, 512, {1, 1, 1});
    const TensorId linear = graph.conv("linear 512 512", point, 512, {1, 1, 1}, {.linear = true});
    const TensorId up = graph.upsampled_conv("up 512 512", linear, 512);
    const TensorId half = graph.conv("conv 512 256", up, 256, {1, 3, 3});
    graph.strided_conv("strided 256 256", half, 256, {1, 3, 3}, {1, 2, 2});
    const TensorId same = graph.conv("conv 256 256", half, 256, {1, 3, 3});
    const TensorId sum = graph.add("sum", same, half);
    const TensorId quarter = graph.conv("conv 256 128", sum, 128, {1, 3, 3});
    const TensorId narrow =
        graph.conv("conv 128 128", quarter, 128, {1, 3, 3}, {.activation = Activation::silu});
    const TensorId grouped = graph.conv("grouped", narrow, 128, {1, 3, 3}, {.groups = 128});
    graph.set_output(graph.conv("conv 128 3", grouped, 3, {1, 3, 3}));
  }
  double conv(const char* op, const Picture& picture) const {
    return seconds(graph, pass_of(graph, {step_of(graph, op, OpKind::conv)}), picture) - kKernel;
  }
  /// TFLOP/s on a picture so large that the last wave does not matter.
  double tera_flops(const char* op, double products) const {
    const Picture large{2048, 2048};
    const OpId id = graph.find_op(op);
    const Tensor& made = graph.tensor(graph.op(id).output);
    return 2 * products * double(made.channels) * 2048 * 2048 * double(made.scale.y * made.scale.x) /
           conv(op, large) / 1e12;
  }
};

TEST_CASE("convolutions on a GPU: rates by channels, fp32 without tensor cores, few products by bytes") {
  const Operations all;
  CHECK(all.tera_flops("conv 512 512", 9 * 512) ==
        Approx(kConvolutions / 1e12 * 4608 / 4908.0).epsilon(0.002));
  CHECK(all.tera_flops("conv 512 256", 9 * 512) ==
        Approx(kConvolutions / 1e12 * 4608 / 4908.0).epsilon(0.002));
  CHECK(all.tera_flops("conv 256 256", 9 * 256) ==
        Approx(kConvolutions / 1e12 * 2304 / 2604.0).epsilon(0.002));
  CHECK(all.tera_flops("conv 256 128", 9 * 256) ==
        Approx(0.85 * kConvolutions / 1e12 * 2304 / 2604.0).epsilon(0.002));
  CHECK(all.tera_flops("point 512 512", 512) == Approx(kConvolutions / 1e12 * 512 / 812.0).epsilon(0.002));
  const Picture wide{128, 128, Dtype::fp32};
  CHECK(all.conv("conv 512 512", wide) == Approx(128.0 * 128 * 2 * 9 * 512 * 512 / 26e12));
  CHECK(all.conv("conv 4 512", wide) == Approx(128.0 * 128 * 2 * 9 * 4 * 512 / 12e12));
  // With TF32 in waves, as in 16 bits.
  const Picture tf32{128, 128, Dtype::fp32, 1, {.convolutions = true}};
  CHECK(all.conv("conv 512 512", tf32) == Approx(4 * 132 * 128.0 * 128 * 2 * 4608 / (330e12 * 4608 / 4908)));
  // Projections that the model computes as matrix products follow the switch of products.
  const double strict = 128.0 * 128 * 2 * 512 * 512 / 26e12;
  CHECK(all.conv("point 512 512", tf32) < strict / 2);
  CHECK(all.conv("linear 512 512", tf32) == Approx(strict));
  const Picture products{128, 128, Dtype::fp32, 1, {.products = true}};
  CHECK(all.conv("point 512 512", products) == Approx(strict));
  CHECK(all.conv("linear 512 512", products) == Approx(all.conv("point 512 512", tf32)));
  // Strided convolutions use no tensor cores in any dtype.
  CHECK(all.conv("strided 256 256", {128, 128}) == Approx(128.0 * 128 * 2 * 9 * 256 * 256 / 12e12));
  // 36 products per value allow 71 TFLOP/s, but writing the output takes longer.
  CHECK(all.conv("conv 4 512", {2048, 2048}) > 2048.0 * 2048 * 512 * 2 / kL2);
  // Three outputs take as long as 32, at 35 % of the rate.
  const double rate = 0.35 * kConvolutions * 1152 / 1452;
  const double area = 4 * 2048 * 2048;
  CHECK(all.conv("conv 128 3", {2048, 2048}) ==
        Approx(std::max(area * 2 * 1152 * 32 / rate, area * (128 + 3) * 2 / kDram)).epsilon(0.002));
  CHECK(all.conv("grouped", {1024, 1024}) ==
        Approx(1024 * 1024 * 4.0 * std::max(2 * 9 * 128 / 5e12, 2 * 128 * 2 / kDram)));
}

TEST_CASE("frames of a clip share the calls of an upsampling convolution if their phases are small") {
  Graph graph;
  const TensorId latent = graph.add_latent(512);
  graph.set_output(graph.upsampled_conv("up", latent, 512));
  const Step conv = step_of(graph, "up", OpKind::conv);
  const auto calls = [&](const CallExtent& extent) {
    return frame_calls(graph, conv,
                       {extent_of(graph.tensor(latent), {9, 64, 64}), 1, Dtype::bf16, DeviceKind::cuda})
        .calls(extent);
  };
  // 32 MiB hold 2^15 positions of 512 channels in 16 bits.
  CHECK(calls({9, 1 << 10}) == 1);
  CHECK(calls({9, 1 << 13}) == 3);
  CHECK(calls({9, 1 << 14}) == 5);
  CHECK(calls({9, 1 << 16}) == 9);
}

TEST_CASE("no tiling starts fewer calls than their lower bound says") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{50}));
  CAPTURE(seed);
  test::Random random(seed);
  const FrameCalls frames{.phase_bytes = 64 * random.integer(1, 40)};
  const CallExtent whole{random.integer(1, 40), random.integer(1, 200'000)};
  int64_t calls = 0;
  for (int64_t begun = 0; begun < whole.frames;) {
    const int64_t count = random.integer(1, whole.frames - begun);
    for (int64_t done = 0; done < whole.area;) {
      const int64_t area = random.integer(1, whole.area - done);
      calls += frames.calls({count, area});
      done += area;
    }
    begun += count;
  }
  CHECK(frames.least_calls(whole) <= calls);
  CHECK(frames.least_calls(whole) <= frames.calls(whole));
  CHECK(frames.least_calls(whole) > 0);
}

/// norm -> conv -> store -> statistics, like most passes of a decoder.
struct Chain {
  Graph graph;
  Pass pass;
  Chain() {
    const TensorId latent = graph.add_latent(128);
    const TensorId statistics = graph.statistics("measured", latent, 32, 1e-6);
    const TensorId norm = graph.norm("norm", latent, statistics, Activation::silu);
    const TensorId conv = graph.conv("conv", norm, 128, {1, 3, 3});
    graph.statistics("next", conv, 32, 1e-6);
    graph.set_output(conv);
    Step norm_step = step_of(graph, "norm", OpKind::norm);
    norm_step.halo = {{0, 1, 1}, {0, 1, 1}};
    norm_step.pad = {0, 1, 1};
    const Step store{.kind = OpKind::store, .tensor = conv, .inputs = {{conv, 1}}};
    pass = pass_of(graph, {norm_step, step_of(graph, "conv", OpKind::conv, {0}), store,
                           step_of(graph, "next", OpKind::statistics, {1})});
  }
};

TEST_CASE("what a tile's step finds in L2 moves at its rate, and is not written out") {
  const Chain chain;
  const double row = 1024 * 128 * 2;
  const auto rate = 0.85 * kConvolutions * 1152 / 1452;
  const double convolution = 1024 * 1024 * 2.0 * 1152 * 128 / rate;
  // Untiled tensors are 268 MB each, so all traffic runs at DRAM's rate. Halos are 0.2 %.
  CHECK(seconds(chain.graph, chain.pass, {1024, 1024}) ==
        Approx(convolution + (2 + 2 + 1) * 1024 * row / kDram + 4 * kKernel).epsilon(0.01));
  // 32 rows are 8.4 MB. Reading x and writing y at DRAM's rate overlaps with traffic in L2.
  const double waves = 2 * 132 * 128 / (32 * 1024.0);
  CHECK(seconds(chain.graph, chain.pass, {1024, 1024}, 32) ==
        Approx(waves * convolution + (2 * 34.0 / 32 + 2 + 1) * 1024 * row / kL2 + 4 * 32 * kKernel)
            .epsilon(0.01));
  const GpuCosts costs(chain.graph, {});
  const Sizes sizes = Picture{1024, 1024}.sizes();
  const std::vector<double> steps = costs.step_seconds(chain.pass, {1, 32, 1024}, sizes);
  CHECK(steps[3] == Approx(1024 * row / kL2 + 32 * kKernel));
  CHECK(std::accumulate(steps.begin(), steps.end(), kPass) ==
        Approx(costs.pass_seconds(chain.pass, {1, 32, 1024}, sizes)));
}

/// A latency table with constant seconds per position.
profiler::LatencyTable table_of(const std::string& name, double seconds) {
  constexpr double kLong = 2048;
  return {name,
          {1, 2048},
          {1, 2048},
          {seconds, seconds * kLong, seconds * kLong, seconds * kLong * kLong},
          {0, 0, 0, 0},
          0,
          0};
}

TEST_CASE("by a profile a tile's step takes what it took alone, or what it misses in L2") {
  const Chain chain;
  constexpr double kCopied = 1e12, kPosition = 2e-12;
  profiler::Profile profile;
  profile.device_kind = DeviceKind::cuda;
  profile.dtype = Dtype::bf16;
  for (const char* step : {"gather", "store", "emit"})
    profile.latency_tables.push_back(
        table_of(profiler::moving_latency_table_name(step, 128), 2 * 128 * 2 / kCopied));
  for (const Op& op : chain.graph.ops())
    profile.latency_tables.push_back(table_of(profiler::latency_table_name(chain.graph, op), kPosition));
  const Request request{"", 1024, 1024, 1, 1, Dtype::bf16, DeviceKind::cuda};
  const CostModel costs(chain.graph, profile, request);
  const Sizes sizes = Picture{1024, 1024}.sizes();
  const double positions = 1024 * 1024, tensor = positions * 128 * 2;
  // Untiled, nothing stays in the cache. The norm, the convolution and the store move two tensors of 268 MB
  // each, and the statistics move one.
  CHECK(costs.pass_seconds(chain.pass, {1, 1024, 1024}, sizes) ==
        Approx((2 + 2 + 2 + 1) * tensor / kCopied).epsilon(0.01));
  // With 32 rows, the norm reads a tile and its halo, and the store writes a tile. Both run as with a cold
  // cache.
  CHECK(costs.pass_seconds(chain.pass, {1, 32, 1024}, sizes) ==
        Approx((34.0 / 32 + 2) * tensor / kCopied + 2 * positions * kPosition).epsilon(0.01));
  const std::vector<double> shapes = costs.shape_seconds(chain.pass, 1, {32, 1024}, {1024}, sizes, {});
  CHECK(shapes[0] == Approx(costs.pass_seconds(chain.pass, {1, 32, 1024}, sizes)));
  CHECK(shapes[0] < 0.5 * shapes[1]);
  const std::vector<double> second =
      costs.shape_seconds(chain.pass, 1, {32, 1024}, {1024}, sizes, {false, true});
  CHECK(second == std::vector{std::numeric_limits<double>::infinity(), shapes[1]});
}

TEST_CASE("launches bound a pass of small tiles") {
  const Chain chain;
  CHECK(seconds(chain.graph, chain.pass, {64, 16}, 1) == Approx(64 * 4 * 5e-6));
}

TEST_CASE("chunks of clips cost the frames that they hand on, once for each but the first") {
  Graph graph;
  const TensorId latent = graph.add_latent(16);
  const TensorId first = graph.conv("first", latent, 128, {3, 3, 3});
  graph.set_output(graph.conv("second", first, 128, {3, 3, 3}));
  const Pass pass = lower_pass(graph, {true, false, false}, PassGoal{{}, {}, {}, true});
  REQUIRE(takes_chunks(graph, pass));
  const Sizes sizes{{12, 256, 256}, 1, Dtype::bf16, DeviceKind::cuda};
  const GpuCosts costs(graph, {});
  const auto of_chunks = [&](int64_t frames) { return costs.pass_seconds(pass, {frames, 256, 256}, sizes); };
  // Each kernel's input has two frames before the tile. The latent's frames are read again in place.
  const double carried = 2.0 * 258 * 258 * 128 * 2 * 4 / kDram;
  const double steps = double(pass.steps.size()) - 1;  // without emit, which launches kernels by frame
  CHECK(of_chunks(4) > of_chunks(12) + 2 * (carried + steps * kKernel));
  CHECK(of_chunks(4) < of_chunks(12) * 1.2 + 2 * (carried + steps * kKernel));
}

struct Size {
  int64_t side;
  double seconds;
};

/// Decodes in bf16 on an H100, without loading weights and writing files (reports/results/gpu-compare.md).
/// The limit was 8 GiB for 4096² and 24 GiB for 8192².
constexpr Size kMeasured[] = {{1024, 23.4e-3}, {2048, 123.3e-3}, {4096, 1.16}, {8192, 14.7}};

TEST_CASE("planned times of SDXL on a GPU are within a tenth of what an H100 took") {
  const Model model = resolve_model("sdxl");
  const CostModel costs(model.graph, DeviceKind::cuda);
  for (const auto& [side, measured] : kMeasured) {
    CAPTURE(side, measured);
    const Request request{"sdxl", side, side, 1, 1, Dtype::bf16, DeviceKind::cuda};
    const Plan plan = make_plan({model, request, {.limit_bytes = int64_t{75} << 30}, costs}).value();
    CHECK(plan.optimal);
    double planned = 0;
    for (const Pass& pass : plan.passes) planned += pass.predicted_seconds;
    CHECK(planned == Approx(measured).epsilon(0.1));
  }
}

TEST_CASE("plans for a GPU cut what does not fit its cache into tiles that do, where that is faster") {
  const Model model = resolve_model("sdxl");
  const CostModel costs(model.graph, DeviceKind::cuda);
  const Request request{"sdxl", 1024, 1024, 1, 1, Dtype::bf16, DeviceKind::cuda};
  const auto tiles_of = [&](const CostModel& of_card) {
    const Plan plan = make_plan({model, request, {.limit_bytes = int64_t{75} << 30}, of_card}).value();
    size_t tiles = 0;
    for (const Pass& pass : plan.passes) {
      const size_t here = pass.tiles.y.size() * pass.tiles.x.size();
      if (here > 1) {
        const int64_t largest = pass.tiles.y[0].length() * pass.tiles.x[0].length() *
                                model.graph.tensor(pass.steps[0].tensor).channels * 2;
        CHECK(largest <= 20 << 20);
        CHECK(largest >= 4 << 20);
      }
      tiles += here;
    }
    return tiles;
  };
  CHECK(tiles_of(costs) > 60);
  // With a negligible cache, tiling gains nothing.
  GpuCard small;
  small.l2_share_bytes = 1e5;
  CHECK(tiles_of(CostModel(model.graph, small)) == 32);
}

}  // namespace
}  // namespace headroom::planner
