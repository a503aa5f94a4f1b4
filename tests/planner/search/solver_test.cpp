#include "planner/explain/why_not.h"
#include "planner/search/make_plan.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "decoder/graph/errors.h"
#include "decoder/lowering/tiles.h"
#include "decoder/lowering/weights_bytes.h"
#include "decoder/validator/validator.h"
#include "tests/support/random_plan.h"
#include "tests/support/sanitized.h"
#include "tests/support/tiny_model.h"

namespace headroom::planner {
namespace {

using test::Random;
using test::request_for;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A few convolutions, norms, residuals, upsampling and now and then attention, drawn at random.
Model small_model(Random& random) {
  Model model;
  model.name = "small";
  model.class_name = "AutoencoderKL";
  model.latent_channels = 4;
  Graph& graph = model.graph;
  TensorId x = graph.conv("in", graph.add_latent(4), 4 * random.integer(1, 4), {1, 3, 3});
  const auto normed = [&](const std::string& name, TensorId from) {
    return graph.norm(name, from, graph.statistics(name + ".statistics", from, 2, 1e-6), Activation::silu);
  };
  bool upsampled = false, attended = false;
  const int64_t blocks = random.integer(1, 2);
  for (int64_t i = 0; i < blocks; ++i) {
    const std::string name = "block" + std::to_string(i);
    const int64_t channels = graph.tensor(x).channels;
    if (!attended && random.chance(0.25)) {
      attended = true;
      const TensorId n = normed(name + ".norm", x);
      const TensorId q = graph.conv(name + ".q", n, channels, {1, 1, 1});
      const TensorId k = graph.conv(name + ".k", n, channels, {1, 1, 1});
      const TensorId v = graph.conv(name + ".v", n, channels, {1, 1, 1});
      x = graph.add(
          name, graph.conv(name + ".out", graph.attention(name + ".mix", q, k, v), channels, {1, 1, 1}), x);
      continue;
    }
    const int64_t wider = random.chance(0.5) ? channels : 4 * random.integer(1, 6);
    TensorId h = graph.conv(name + ".conv1", normed(name + ".norm1", x), wider, {1, 3, 3});
    if (random.chance(0.7)) h = graph.conv(name + ".conv2", normed(name + ".norm2", h), wider, {1, 3, 3});
    x = graph.add(name, h, wider == channels ? x : graph.conv(name + ".shortcut", x, wider, {1, 1, 1}));
    if (!upsampled && random.chance(0.5)) {
      upsampled = true;
      x = graph.conv(name + ".up.conv", graph.upsample(name + ".up", x, {1, 2, 2}), wider, {1, 3, 3});
    }
  }
  graph.set_output(graph.conv("out", normed("norm_out", x), 3, {1, 3, 3}));
  return model;
}

struct Case {
  Model model;
  Request request;
  CostModel costs;

  explicit Case(Random& random) : model(small_model(random)), costs(model.graph) {
    request = request_for(model, {1, random.integer(8, 70), random.integer(8, 90)});
  }
};

/// Every sequence of choices, without memory of what was seen: the least of what `pay` makes of the paths.
double exhaust(PlanSpace& space, State& state, double so_far,
               const std::function<double(double, Choice&)>& pay) {
  if (state.pass == space.passes()) return so_far;
  double best = kInfinity;
  for (Choice& choice : space.choices(state)) {
    if (!space.work_out(state, choice)) continue;
    const double paid = pay(so_far, choice);
    if (paid < kInfinity) best = std::min(best, exhaust(space, *choice.next, paid, pay));
  }
  return best;
}

double brute_fastest(PlanSpace& space, int64_t limit) {
  return exhaust(space, space.start(), space.start_seconds(), [&](double so_far, Choice& choice) {
    double best = kInfinity;
    for (const Shape& shape : choice.shapes->all()) {
      if (choice.peak_bytes(shape) <= limit) best = std::min(best, so_far + choice.seconds(shape));
    }
    return best;
  });
}

double brute_smallest_limit(PlanSpace& space) {
  return exhaust(space, space.start(), 0, [](double so_far, Choice& choice) {
    double best = kInfinity;
    for (const Shape& shape : choice.shapes->all()) best = std::min(best, double(choice.peak_bytes(shape)));
    return std::max(so_far, best);
  });
}

/// Limits from the smallest that works to where nothing more is gained.
std::vector<int64_t> limits(int64_t smallest, int64_t fixed) {
  const int64_t above = smallest - fixed;
  return {smallest,         smallest + above / 20, smallest + above / 4, smallest + above / 2,
          smallest + above, smallest + 3 * above,  int64_t{1} << 50};
}

TEST_CASE("the solver finds what trying every sequence of choices finds") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{25}));
  CAPTURE(seed);
  Random random(seed);
  Case c(random);
  PlanSpace space(c.model, c.request, {}, c.costs);
  const SmallestLimit smallest = smallest_limit(space);
  CHECK(double(smallest.bytes) == brute_smallest_limit(space));
  for (const int64_t limit : limits(smallest.bytes, space.fixed_bytes())) {
    CAPTURE(smallest.bytes, limit);
    const auto found = fastest(space, limit).solution;
    REQUIRE(found.has_value());
    CHECK(found->seconds == Approx(brute_fastest(space, limit)).epsilon(1e-12));
    // The decisions cost what the solver says, and the plan made of them fits and is valid.
    Plan plan = build_plan(c.model, c.request, {}, found->decisions, c.costs.memory());
    plan.limit_bytes = limit;
    CHECK(plan.predicted_peak_bytes <= limit);
    CHECK(validate(plan, c.model).empty());
    double seconds = space.start_seconds();
    for (size_t i = 0; i < plan.passes.size(); ++i) {
      seconds += c.costs.transform_seconds(pass_weights_bytes(
          c.model.graph, plan.passes[i], plan.passes[i].convolutions, WeightResidency::resident, {}));
      seconds +=
          c.costs.pass_seconds(plan.passes[i], found->decisions[i].tile, sizes_of(c.model.graph, plan));
    }
    CHECK(seconds == Approx(found->seconds).epsilon(1e-12));
  }
  CHECK_FALSE(fastest(space, smallest.bytes - 1).solution.has_value());
}

/// Tile lengths of the space as docs/planning.md states it: the whole, or powers of two down to `smallest`.
std::vector<int64_t> stated_lengths(int64_t length, int64_t smallest) {
  std::vector<int64_t> lengths{length};
  for (int64_t power = smallest; power < length; power *= 2) lengths.push_back(power);
  return lengths;
}

/// Algorithms as docs/planning.md states them.
std::vector<ConvolutionAlgorithms> stated_algorithms(const Graph& graph, const Pass& pass) {
  std::vector<OpId> ops = operations_of(pass);
  std::erase_if(ops, [&](OpId op) { return !has_winograd(graph, op); });
  const auto reads_rows = [&](OpId op) { return graph.tensor(graph.op(op).inputs[0]).scale.y; };
  const auto comes_first = [&](OpId a, OpId b) {
    if (reads_rows(a) != reads_rows(b)) return reads_rows(a) < reads_rows(b);
    return graph.op(a).factor.y > graph.op(b).factor.y;
  };
  std::stable_sort(ops.begin(), ops.end(), comes_first);
  std::vector<ConvolutionAlgorithms> list{ConvolutionAlgorithm::direct};
  for (size_t i = 0; i < ops.size(); ++i)
    list.push_back(
        {ConvolutionAlgorithm::winograd, std::vector(ops.begin(), ops.begin() + std::ptrdiff_t(i))});
  return list;
}

/// Heights of a pass that carries rows: lower than the picture, and higher than by how much it runs ahead.
/// None where tiles that overlap would compute no convolution twice.
std::vector<int64_t> stated_heights(const Graph& graph, const Pass& pass, int64_t rows) {
  std::vector<int64_t> heights = stated_lengths(rows, 4);
  const bool saves = std::any_of(pass.steps.begin(), pass.steps.end(), [](const Step& step) {
    return step.kind == StepKind::conv && step.halo.after.y > 0;
  });
  std::erase_if(heights, [&](int64_t y) { return !saves || y >= rows || y <= rows_ahead(graph, pass).rows; });
  return heights;
}

/// For fixed decisions what to keep: the fastest shapes that fit, pass by pass, priced by build_plan alone.
double fastest_shapes(const Case& c, std::vector<PassDecision> decisions, const Plan& plan, int64_t limit) {
  const Sizes sizes = sizes_of(c.model.graph, plan);
  // Each shape is tried in all passes at once: passes do not depend on one another's tiles, only on what is
  // kept.
  std::vector<double> best(decisions.size(), kInfinity);
  std::vector<std::vector<std::pair<Extent, ConvolutionAlgorithms>>> shapes(decisions.size());
  size_t most = 0;
  for (size_t i = 0; i < decisions.size(); ++i) {
    const Extent grid = per_axis([](int64_t length, int32_t scale) { return length * scale; }, sizes.latent,
                                 plan.passes[i].scale);
    const std::vector<int64_t> heights = stated_heights(c.model.graph, plan.passes[i], grid.y);
    decisions[i].carries_rows = decisions[i].carries_rows && !heights.empty();
    for (const int64_t y : decisions[i].carries_rows ? heights : stated_lengths(grid.y, 4)) {
      for (const int64_t x : stated_lengths(grid.x, 32)) {
        for (const ConvolutionAlgorithms& algorithms : stated_algorithms(c.model.graph, plan.passes[i]))
          shapes[i].push_back({{1, y, x}, algorithms});
      }
    }
    most = std::max(most, shapes[i].size());
  }
  for (size_t s = 0; s < most; ++s) {
    for (size_t i = 0; i < decisions.size(); ++i)
      std::tie(decisions[i].tile, decisions[i].convolutions) = shapes[i][std::min(s, shapes[i].size() - 1)];
    const Plan built = build_plan(c.model, c.request, {}, decisions, c.costs.memory());
    for (size_t i = 0; i < decisions.size(); ++i) {
      if (built.passes[i].predicted_peak_bytes > limit) continue;
      const Pass& pass = built.passes[i];
      const double transform = c.costs.transform_seconds(
          pass_weights_bytes(c.model.graph, pass, pass.convolutions, WeightResidency::resident, {}));
      best[i] = std::min(best[i], transform + c.costs.pass_seconds(pass, decisions[i].tile, sizes));
    }
  }
  double sum = 0;
  for (const double seconds : best) sum += seconds;
  return sum;
}

/// Tensors that the space never keeps (docs/planning.md): recomputed position by position from something no
/// larger.
std::set<std::string> never_kept(const Graph& graph) {
  std::set<std::string> names;
  const auto size = [&](TensorId id) {
    const Tensor& tensor = graph.tensor(id);
    return tensor.channels * tensor.scale.y * tensor.scale.x;
  };
  for (const Op& op : graph.ops()) {
    const std::vector<OpId>& readers = graph.readers(op.output);
    const bool is_target = std::any_of(readers.begin(), readers.end(), [&](OpId id) {
      const Op& reader = graph.op(id);
      return reader.kind == OpKind::statistics ||
             (reader.kind == OpKind::attention && reader.inputs[0] != op.output);
    });
    const bool pixelwise = op.kind == OpKind::conv && op.kernel == Axes<int32_t>{1, 1, 1} && !is_target;
    const bool cheap = op.kind == OpKind::norm || op.kind == OpKind::upsample || pixelwise;
    if (cheap && size(op.output) >= size(op.inputs[0])) names.insert(graph.tensor(op.output).name);
  }
  return names;
}

TEST_CASE("no decisions drawn at random are faster than the solver's") {
  const uint64_t seed = GENERATE(range(uint64_t{100}, uint64_t{140}, test::kSeedStep));
  CAPTURE(seed);
  Random random(seed);
  Case c(random);
  PlanSpace space(c.model, c.request, {}, c.costs);
  const int64_t smallest = smallest_limit(space).bytes;
  for (int trial = 0; trial < 60; ++trial) {
    test::RandomStyle style;
    style.keep = random.uniform(0, 1);
    style.in_place = random.pick<double>({0, 0.5, 1});
    const test::RandomPlan drawn =
        test::random_plan(c.model, c.request, 1, style, c.costs.memory(), random, never_kept(c.model.graph));
    const int64_t limit = random.pick(limits(smallest, space.fixed_bytes()));
    const double seconds = space.start_seconds() + fastest_shapes(c, drawn.decisions, drawn.plan, limit);
    const auto found = fastest(space, limit).solution;
    REQUIRE(found.has_value());
    if (seconds >= found->seconds * (1 - 1e-12)) continue;
    std::string keeps;
    for (size_t i = 0; i < drawn.decisions.size(); ++i) {
      keeps += "\npass " + std::to_string(i) + ":";
      for (TensorId id : drawn.decisions[i].keeps) keeps += " " + c.model.graph.tensor(id).name;
      for (TensorId id : drawn.decisions[i].in_place) keeps += " in place " + c.model.graph.tensor(id).name;
      keeps += "  solver:";
      for (TensorId id : found->decisions[i].keeps) keeps += " " + c.model.graph.tensor(id).name;
      for (TensorId id : found->decisions[i].in_place) keeps += " in place " + c.model.graph.tensor(id).name;
    }
    CAPTURE(trial, limit, smallest, keeps);
    CHECK(seconds >= found->seconds * (1 - 1e-12));
  }
}

TEST_CASE("at the smallest limit a plan exists, and one byte below none") {
  const uint64_t seed = GENERATE(range(uint64_t{200}, uint64_t{210}, test::kSeedStep));
  CAPTURE(seed);
  Random random(seed);
  const nlohmann::json config = test::random_config(random);
  CAPTURE(config.dump());
  const Model model = test::model_of(config);
  const Request request =
      request_for(model, {1, random.integer(1, 24), random.integer(1, 24)}, random.integer(1, 2));
  const CostModel costs(model.graph);
  int64_t smallest = 0;
  try {
    plan_or_explain({model, request, {}, costs});
    FAIL("nothing fits into nothing");
  } catch (const DoesNotFit& refused) {
    smallest = refused.smallest_limit_bytes;
    CHECK_THAT(refused.what(), Catch::Contains(std::to_string(smallest) + " bytes"));
  }
  const Plan plan = make_plan({model, request, {.limit_bytes = smallest}, costs}).value();
  CHECK(plan.predicted_peak_bytes == smallest);
  CHECK(plan.optimal);
  CHECK(plan.exact);
  CHECK(plan.assumed);
  CHECK(validate(plan, model).empty());
  CHECK_FALSE(make_plan({model, request, {.limit_bytes = smallest - 1}, costs}));
}

TEST_CASE("more memory never makes a plan slower", "[long]") {
  const uint64_t seed = GENERATE(range(uint64_t{300}, uint64_t{306}));
  CAPTURE(seed);
  Random random(seed);
  const Model model = test::model_of(test::random_config(random));
  const Request request =
      request_for(model, {1, random.integer(8, 40), random.integer(8, 40)}, random.integer(1, 3));
  const CostModel costs(model.graph);
  PlanSpace space(model, request, {}, costs);
  const int64_t smallest = smallest_limit(space).bytes;
  double before = kInfinity;
  for (const int64_t limit : limits(smallest, space.fixed_bytes())) {
    const Plan plan = make_plan({model, request, {.limit_bytes = limit}, costs}).value();
    CHECK(plan.predicted_seconds <= before);
    CHECK(plan.predicted_peak_bytes <= limit);
    double seconds = plan.weights == WeightResidency::resident
                         ? costs.weights_seconds(resident_weights_bytes(model.graph, {}))
                         : 0;
    for (const Pass& pass : plan.passes) seconds += pass.predicted_seconds;
    CHECK(seconds == Approx(plan.predicted_seconds).epsilon(1e-9));
    before = plan.predicted_seconds;
  }
}

TEST_CASE("SDXL at 512x512 keeps to its limit, and its smallest limit is far below untiled") {
  const Model sdxl = resolve_model("sdxl");
  const Request request{"sdxl", 512, 512, 1, 1, Dtype::fp32};
  const CostModel costs(sdxl.graph);
  const Plan plan = make_plan({sdxl, request, {.limit_bytes = int64_t{576} << 20}, costs}).value();
  CHECK(plan.predicted_peak_bytes <= int64_t{576} << 20);
  PlanSpace space(sdxl, request, {}, costs);
  const SmallestLimit smallest = smallest_limit(space);
  CHECK(smallest.bytes < int64_t{400} << 20);
  CHECK(smallest.pass < space.passes());
}

}  // namespace
}  // namespace headroom::planner
