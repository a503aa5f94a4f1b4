#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <set>

#include "decoder/schedule/blocks.h"
#include "decoder/schedule/memory.h"
#include "planner/cost/device_costs.h"
#include "reports/figures/timeline.h"
#include "tests/decoder/plan/small_plan.h"
#include "tests/reports/figures/printed_figures.h"
#include "tests/support/random.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_model.h"

namespace headroom::reports {
namespace {

using test::Random;

DocumentPtr document_of(RecordedTrace recorded) {
  auto document = std::make_shared<Document>();
  document->contents = std::move(recorded);
  return document;
}

DocumentPtr document_of(Plan plan, Model model) {
  auto document = std::make_shared<Document>();
  document->contents = PlanDocument{std::move(plan), std::move(model)};
  return document;
}

MemoryUse uses_of(const std::vector<LiveEntry>& entries) {
  MemoryUse use{};
  for (const LiveEntry& entry : entries) use[static_cast<size_t>(entry.kind)] += entry.bytes;
  return use;
}

/// Kinds that rise and fall at random, with some moments at the same time.
Timeline random_walk(Random& random, size_t moments) {
  std::vector<double> seconds;
  std::vector<MemoryUse> use;
  MemoryUse now{};
  double at = random.uniform(0, 1);
  for (size_t i = 0; i < moments; ++i) {
    if (random.chance(0.8)) at += random.uniform(0, 0.01);
    int64_t& bytes = now[static_cast<size_t>(random.integer(0, kMemoryKinds - 1))];
    bytes = std::max<int64_t>(0, bytes + random.integer(-100, 100));
    seconds.push_back(at);
    use.push_back(now);
  }
  return TimelineData{seconds, use, at + 0.5, 1000, {{0, at, "all"}}};
}

int64_t slack_at(const Timeline& timeline, size_t moment) {
  return timeline.use(moment)[static_cast<size_t>(MemoryKind::slack)];
}

TEST_CASE("the highest moment of any interval is found") {
  for (size_t moments : {1, 2, 63, 64, 65, 128, 4095, 4096, 4097, 10'000, 270'000}) {
    CAPTURE(moments);
    Random random(moments);
    const Timeline timeline = random_walk(random, moments);
    for (int i = 0; i < 200; ++i) {
      const auto last = static_cast<int64_t>(moments) - 1;
      auto begin = static_cast<size_t>(random.integer(0, last)),
           end = static_cast<size_t>(random.integer(0, last));
      if (begin > end) std::swap(begin, end);
      ++end;
      if (i == 0) begin = 0, end = moments;
      size_t best = begin;
      for (size_t k = begin; k < end; ++k) {
        const auto height = [&](size_t moment) {
          return std::pair(timeline.total_bytes(moment), -slack_at(timeline, moment));
        };
        if (height(k) > height(best)) best = k;
      }
      REQUIRE(timeline.highest(begin, end) == best);
    }
    CHECK(timeline.peak() == timeline.highest(0, moments));
  }
}

TEST_CASE("moments are found by their time") {
  const Timeline timeline({{1, 2, 2, 4}, std::vector<MemoryUse>(4), 5});
  CHECK(timeline.at(0) == 0);
  CHECK(timeline.at(1.5) == 0);
  CHECK(timeline.at(2) == 2);
  CHECK(timeline.at(9) == 3);
  CHECK(timeline.from(0) == 0);
  CHECK(timeline.from(2) == 1);
  CHECK(timeline.from(3) == 3);
  CHECK(timeline.from(9) == 4);
  CHECK_THROWS_AS(Timeline({{}, {}}), std::logic_error);
}

/// Sum over all kinds of the values drawn at `seconds`.
double drawn_at(const Chart& chart, double seconds) {
  double sum = 0;
  for (const Series& series : chart.series) {
    const auto after = std::upper_bound(series.x.begin(), series.x.end(), seconds);
    if (after != series.x.begin()) sum += series.y[static_cast<size_t>(after - series.x.begin()) - 1];
  }
  return sum;
}

TEST_CASE("a chart loses no peak, invents none, and has no more points than columns") {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const auto moments = static_cast<size_t>(random.integer(1, 3000));
    const Timeline timeline = random_walk(random, moments);
    const double least = timeline.seconds(0), most = timeline.end_seconds();
    const double begin = seed % 3 == 0 ? 0 : random.uniform(least - 0.2, most),
                 end = seed % 3 == 0 ? most : random.uniform(begin, most + 0.2);
    const auto columns = static_cast<size_t>(random.integer(1, 400));
    CAPTURE(moments, begin, end, columns);
    const Chart chart = timeline_chart(timeline, "memory", begin, end, columns);
    REQUIRE(chart.series.size() == timeline.kinds().size());
    REQUIRE(chart.series[0].x.size() <= columns + 1);
    const std::vector<double>& x = chart.series[0].x;
    CHECK(std::is_sorted(x.begin(), x.end()));
    // The highest that is drawn is the highest that there is, what holds at the beginning included.
    int64_t highest = least <= begin ? timeline.total_bytes(timeline.at(begin)) : 0;
    for (size_t i = timeline.from(begin); i < moments && timeline.seconds(i) <= end; ++i)
      highest = std::max(highest, timeline.total_bytes(i));
    std::set<double> totals{0};
    for (size_t i = 0; i < moments; ++i) totals.insert(double(timeline.total_bytes(i)));
    double drawn = 0;
    for (size_t p = 0; p < x.size(); ++p) {
      double sum = 0;
      for (const Series& series : chart.series) {
        REQUIRE(series.x == x);
        REQUIRE(series.y.size() == x.size());
        sum += series.y[p];
      }
      REQUIRE(totals.contains(sum));
      drawn = std::max(drawn, sum);
    }
    CHECK(drawn == double(highest));
    // At every moment no less is drawn than there was; of several at one time the last is held.
    for (size_t i = timeline.from(begin); i < moments && timeline.seconds(i) < std::min(end, most); ++i) {
      if (i + 1 < moments && timeline.seconds(i + 1) == timeline.seconds(i)) continue;
      REQUIRE(drawn_at(chart, timeline.seconds(i)) >= double(timeline.total_bytes(i)));
    }
  }
}

TEST_CASE("a chart has the kinds in their order, the limit, the passes and the peak where they can be seen") {
  MemoryUse low{}, high{};
  low[0] = 5;
  high = {5, 1, 2, 3, 4, 7, 8, 9, 6};
  const auto timeline_with = [&](int64_t limit) {
    return Timeline({{1, 2, 3}, {low, high, low}, 4, limit, {{1, 2, "first"}, {2, 4, "second"}}});
  };
  const Chart chart = timeline_chart(timeline_with(100), "memory", 0, 4, 100);
  test::check_expected("figures/timeline.txt", test::printed(chart));
  for (int64_t limit : {int64_t{0}, int64_t{1} << 62, INT64_MAX})
    CHECK(timeline_chart(timeline_with(limit), "", 0, 4, 100).guides.empty());
  const Chart part = timeline_chart(timeline_with(100), "", 2.5, 3.5, 100);
  test::check_expected("figures/part_of_timeline.txt", test::printed(part));
  CHECK(timeline_chart(timeline_with(100), "", 2.5, 1, 100).series[0].x.empty());
  CHECK(timeline_chart(timeline_with(100), "", 0, 4, 0).series[0].x.empty());
  CHECK(timeline_chart(timeline_with(100), "", 5, 6, 10).series[0].x.empty());
}

/// A decode that nobody ran: allocations and frees of some layers, now and then a look outside.
RecordedTrace random_trace(Random& random, size_t events) {
  RecordedTrace recorded;
  recorded.layers = {"latent", "conv_in", "conv_mid", "conv_out"};
  recorded.pass_names = {"first", "second"};
  Trace& trace = recorded.trace;
  std::vector<TraceEvent> held;
  double at = 0;
  for (size_t i = 0; i < events; ++i) {
    if (random.chance(0.7)) at += double(random.integer(1, 50)) * 1e-6;
    const auto one = [&] {
      return static_cast<size_t>(random.integer(0, static_cast<int64_t>(held.size()) - 1));
    };
    TraceEvent event{at,
                     random.integer(1, 1000),
                     -1,
                     -1,
                     TensorId{static_cast<int32_t>(random.integer(-1, 3))},
                     static_cast<MemoryKind>(random.integer(0, kEventKinds - 1))};
    if (held.size() > 40 || (!held.empty() && random.chance(0.45))) {
      const size_t freed = one();
      event = held[freed];
      event.seconds = at;
      event.bytes = -event.bytes;
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(freed));
    } else {
      held.push_back(event);
    }
    trace.events.push_back(event);
    if (random.chance(0.05)) trace.outside.push_back({at, random.integer(0, 500)});
  }
  trace.seconds = at + 0.1;
  trace.limit_bytes = 1 << 20;
  trace.passes = {{0, at / 2, 0, 0}, {at / 2, at, 0, 1}};
  return recorded;
}

TEST_CASE("a recorded timeline has every event and every look outside, and its live sets add up") {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const auto events = static_cast<size_t>(random.integer(1, seed < 18 ? 300 : 20'000));
    const RecordedTrace recorded = random_trace(random, events);
    const Trace& trace = recorded.trace;
    const Timeline timeline = measured_timeline(document_of(recorded));
    REQUIRE(timeline.size() == trace.events.size() + trace.outside.size());
    CHECK(timeline.end_seconds() == trace.seconds);
    CHECK(timeline.limit_bytes() == trace.limit_bytes);
    REQUIRE(timeline.passes().size() == 2);
    CHECK(timeline.passes()[1].name == "second");

    std::map<std::pair<MemoryKind, std::string>, int64_t> live;
    size_t event = 0, sample = 0;
    for (size_t i = 0; i < timeline.size(); ++i) {
      CAPTURE(i);
      const bool looked =
          event == trace.events.size() ||
          (sample < trace.outside.size() && trace.outside[sample].seconds < trace.events[event].seconds);
      if (looked) {
        REQUIRE(timeline.seconds(i) == trace.outside[sample].seconds);
        live[{MemoryKind::outside, "other process memory"}] = trace.outside[sample++].bytes;
      } else {
        const TraceEvent& one = trace.events[event++];
        const auto kind = static_cast<MemoryKind>(one.kind);
        REQUIRE(timeline.seconds(i) == one.seconds);
        live[{kind, one.layer == TensorId{-1} ? title_of(kind) : recorded.layers[index(one.layer)]}] +=
            one.bytes;
      }
      MemoryUse use{};
      for (const auto& [key, bytes] : live) use[static_cast<size_t>(key.first)] += bytes;
      REQUIRE(timeline.use(i) == use);
      if (events > 1000 && i % 37 != 0) continue;
      const std::vector<LiveEntry> entries = timeline.live_set(i);
      REQUIRE(uses_of(entries) == use);
      for (size_t k = 0; k < entries.size(); ++k) {
        REQUIRE(entries[k].bytes == live[{entries[k].kind, entries[k].name}]);
        if (k > 0) REQUIRE(entries[k].bytes <= entries[k - 1].bytes);
      }
    }
    const Table table = live_table(timeline, timeline.peak());
    double shares = 0;
    for (const Row& row : table.rows) {
      REQUIRE(row.cells.size() == table.columns.size());
      shares += std::get<double>(row.cells[3]);
    }
    CHECK(shares == Approx(1));
  }
}

TEST_CASE("sums of a trace are one moment each, known by kind alone") {
  RecordedTrace recorded;
  recorded.layers = {"latent", "conv_in"};
  Trace& trace = recorded.trace;
  const auto kept = MemoryKind::kept, tile = MemoryKind::tile, weights = MemoryKind::weights;
  trace.events = {{0.5, 100, -1, -1, TensorId{-1}, weights},
                  {1, 1000, 0, 0, TensorId{1}, kept},
                  {1, 500, 0, 0, TensorId{1}, tile},  // the last that stands alone
                  {1, 50, 0, 0, TensorId{-1}, kept},  // and sums of the same microsecond
                  {1, -500, 0, 0, TensorId{-1}, tile},
                  {2, 2000, 0, 0, TensorId{-1}, kept},
                  {2, 70, 0, 0, TensorId{-1}, tile},
                  {2, -1000, 0, 0, TensorId{-1}, kept},  // kinds begin again: the next moment
                  {2, -70, 0, 0, TensorId{-1}, tile},
                  {3, -2050, 0, 0, TensorId{-1}, kept}};
  trace.summed_by_step_from_seconds = 1.0000003;
  trace.seconds = 3;
  const Timeline timeline = measured_timeline(document_of(recorded));
  std::vector<int64_t> totals;
  for (size_t i = 0; i < timeline.size(); ++i) {
    totals.push_back(timeline.total_bytes(i));
    CHECK(uses_of(timeline.live_set(i)) == timeline.use(i));
  }
  CHECK(totals == std::vector<int64_t>{100, 1100, 1600, 1150, 3220, 2150, 100});
  CHECK(timeline.live_set(2) == std::vector<LiveEntry>{{"conv_in", MemoryKind::kept, 1000},
                                                       {"conv_in", MemoryKind::tile, 500},
                                                       {"weights", MemoryKind::weights, 100}});
  CHECK(timeline.live_set(4) == std::vector<LiveEntry>{{"kept tensors", MemoryKind::kept, 3050},
                                                       {"weights", MemoryKind::weights, 100},
                                                       {"tiles", MemoryKind::tile, 70}});
}

TEST_CASE("a layer that frees more than it had is not told apart from its kind") {
  RecordedTrace recorded;
  recorded.layers = {"latent", "conv_in"};
  recorded.trace.events = {{0, 100, -1, -1, TensorId{0}, MemoryKind::kept},
                           {1, -60, -1, -1, TensorId{1}, MemoryKind::kept},
                           {1, 5, -1, -1, TensorId{1}, MemoryKind::tile}};
  const Timeline timeline = measured_timeline(document_of(recorded));
  CHECK(timeline.live_set(2) ==
        std::vector<LiveEntry>{{"kept tensors", MemoryKind::kept, 40}, {"conv_in", MemoryKind::tile, 5}});
}

TEST_CASE("a trace without events is a timeline on which nothing happens") {
  const Timeline timeline = measured_timeline(document_of(RecordedTrace{}));
  REQUIRE(timeline.size() == 1);
  CHECK(timeline.total_bytes(0) == 0);
  CHECK(timeline.live_set(0).empty());
  CHECK(live_table(timeline, 0).rows.empty());
  CHECK(timeline_chart(timeline, "", 0, 0, 10).series.size() == kDecodeKinds);
}

/// Every moment adds up, and every pass's highest is what the plan says of it.
void check_as_planned(const Plan& plan, const Model& model) {
  const Timeline timeline = predicted_timeline(document_of(plan, model));
  std::vector<int64_t> peaks(plan.passes.size(), 0);
  REQUIRE(timeline.passes().size() == plan.passes.size());
  const std::vector<Span>& spans = timeline.passes();
  size_t pass = 0;
  for (size_t i = 0; i < timeline.size(); ++i) {
    if (i > 0) REQUIRE(timeline.seconds(i) >= timeline.seconds(i - 1));
    const std::vector<LiveEntry> live = timeline.live_set(i);
    REQUIRE(uses_of(live) == timeline.use(i));
    const bool on_gpu = plan.request.device == DeviceKind::cuda;
    const MemoryKind reserve = on_gpu ? MemoryKind::slack : MemoryKind::outside;
    REQUIRE(timeline.use(i)[static_cast<size_t>(reserve)] == plan.reserve_bytes);
    REQUIRE_FALSE(timeline.has(on_gpu ? MemoryKind::outside : MemoryKind::slack));
    for (size_t k = 0; k < live.size(); ++k) {
      REQUIRE(live[k].bytes > 0);
      // The reserve counts as gaps on a GPU.
      if (live[k].kind == MemoryKind::slack) REQUIRE(live[k].name == "gaps");
      if (live[k].kind == MemoryKind::outside) REQUIRE(live[k].name == "reserve");
      REQUIRE_FALSE(live[k].name.empty());
    }
    while (pass + 1 < spans.size() && timeline.seconds(i) >= spans[pass + 1].begin) ++pass;
    if (timeline.seconds(i) >= spans[pass].begin)
      peaks[pass] = std::max(peaks[pass], timeline.total_bytes(i));
  }
  for (size_t i = 0; i < peaks.size(); ++i) {
    CAPTURE(i, plan.passes[i].name);
    REQUIRE(peaks[i] == plan.passes[i].predicted_peak_bytes);
    REQUIRE(spans[i].name == plan.passes[i].name);
    REQUIRE(spans[i].end > spans[i].begin);
    if (i > 0) REQUIRE(spans[i].begin == spans[i - 1].end);
  }
  CHECK(timeline.total_bytes(timeline.peak()) == plan.predicted_peak_bytes);
  CHECK(timeline.end_seconds() == spans.back().end);
}

TEST_CASE("a plan's timeline adds up at every moment and reaches every pass's predicted peak") {
  const uint64_t ten = GENERATE(range(uint64_t{0}, uint64_t{10}));
  for (uint64_t seed = ten * 10; seed < (ten + 1) * 10; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Model model = random.chance(0.4) ? test::model_of(test::random_config(random))
                                           : test::random_model(random, {.operations = random.integer(4, 40),
                                                                         .barriers = random.integer(1, 8)});
    const Dtype dtype = random.pick<Dtype>({Dtype::fp32, Dtype::fp16});
    const DeviceKind device = ten < 8 ? DeviceKind::cpu : DeviceKind::cuda;
    const Extent latent{1, random.integer(1, 24), random.integer(1, 24)};
    const Request request = test::request_for(model, latent, random.integer(1, 3), dtype, device);
    // Plans of other machines too: workspace goes by their threads.
    const auto threads = random.pick<int64_t>({1, 2, 3, 8, 64});
    MemoryModel memory = device == DeviceKind::cuda ? planner::cuda_memory_model(model.graph)
                                                    : planner::cpu_memory_model(model.graph, threads);
    memory.block_bytes = random.pick<int64_t>({1, 512, 4096, 40000});
    memory.reserve_bytes = random.integer(0, 1 << 20);
    test::RandomStyle style;
    style.keep = random.uniform(0, 1);
    style.below = random.pick<double>({0, 0.5, 1});
    style.in_place = random.pick<double>({0, 0.5, 1});
    const PlanConfiguration configuration{
        1, random.pick<WeightResidency>({WeightResidency::resident, WeightResidency::per_pass}),
        device == DeviceKind::cuda ? MemoryTier::host
                                   : random.pick<MemoryTier>({MemoryTier::host, MemoryTier::scratch})};
    if (device == DeviceKind::cuda) style.form = ConvolutionAlgorithm::direct;
    const int64_t micro_batch = random.chance(0.5) ? 1 : request.batch;
    check_as_planned(
        test::random_plan(model, request, micro_batch, style, memory, random, {}, configuration).plan, model);
  }
}

TEST_CASE("what a plan's timeline says is on the device") {
  Model model;
  model.graph = testing::small_graph();
  Plan plan = testing::small_plan(model.graph);
  plan.weights_bytes = 0;
  const Timeline timeline = predicted_timeline(document_of(plan, model));
  // Three bands of one tile and 4 steps, twice; then three bands of two tiles and 3 steps.
  REQUIRE(timeline.size() == 3 * 4 + 3 * 4 + 3 * 2 * 3);
  const auto names = [&](size_t i) {
    std::vector<std::string> list;
    for (const LiveEntry& entry : timeline.live_set(i))
      list.push_back(std::string(title_of(entry.kind)) + ": " + entry.name);
    std::sort(list.begin(), list.end());
    return list;
  };
  using Names = std::vector<std::string>;
  const Names constant{"latent: latent", "other process memory: reserve", "weights: weights"};
  const auto with_constant = [&](Names more) {
    more.insert(more.end(), constant.begin(), constant.end());
    std::sort(more.begin(), more.end());
    return more;
  };
  CHECK(names(0) == with_constant({"tiles: latent"}));
  CHECK(names(1) == with_constant({"tiles: latent", "tiles: conv_in"}));
  CHECK(names(3) == with_constant({"tiles: conv_in", "kept tensors: conv_in"}));
  CHECK(names(4) == with_constant({"tiles: latent", "kept tensors: conv_in"}));  // the next band
  CHECK(names(12) == with_constant({"tiles: norm", "kept tensors: conv_in"}));
  // The sum takes its operand's tile.
  CHECK(names(14) == with_constant({"tiles: conv", "kept tensors: conv_in"}));
  CHECK(names(15) == with_constant({"tiles: residual", "kept tensors: conv_in", "kept tensors: residual"}));
  CHECK(names(24) == with_constant({"tiles: upsample", "kept tensors: residual"}));
  CHECK(timeline.passes()[1].end == Approx(0.2));
  // A third of a pass for each band of equal rows; of a band of two tiles the first half for the first.
  CHECK(timeline.seconds(4) == Approx(0.1 * 3 / 8));
  CHECK(timeline.seconds(27) == Approx(0.2 + 0.1 * 6 / 16 / 2));
}

TEST_CASE("blocks that a sum takes over stay, under the name of what it is added to") {
  Model model;
  model.graph = testing::small_graph(1);
  const Plan plan = testing::small_plan_in_place(model.graph);
  const Timeline timeline = predicted_timeline(document_of(plan, model));
  const int64_t all = kept_bytes(model.graph, plan.kept[0], sizes_of(model.graph, plan));
  const auto kept = [&](size_t i) {
    std::vector<LiveEntry> entries = timeline.live_set(i);
    std::erase_if(entries, [](const LiveEntry& entry) { return entry.kind != MemoryKind::kept; });
    return entries;
  };
  const size_t first = timeline.from(timeline.passes()[1].begin),
               last = timeline.from(timeline.passes()[2].begin);
  REQUIRE(last - first == 3 * 3);
  for (size_t i = first; i < last; ++i)
    CHECK(kept(i) == std::vector<LiveEntry>{{"conv_in", MemoryKind::kept, all}});
  CHECK(kept(last) == std::vector<LiveEntry>{{"residual", MemoryKind::kept, all}});
}

TEST_CASE("plans without times go by FLOPs, and times still rise") {
  const Model model = test::model_of(test::tiny_config());
  const Plan plan = untiled_plan(model, test::request_for(model, {1, 16, 16}));
  const Timeline timeline = predicted_timeline(document_of(plan, model));
  CHECK(timeline.end_seconds() == Approx(1));
  for (const Span& pass : timeline.passes()) CHECK(pass.end > pass.begin);
  for (size_t i = 1; i < timeline.size(); ++i) CHECK(timeline.seconds(i) > timeline.seconds(i - 1));
  CHECK(timeline.passes().size() == plan.passes.size());
}

TEST_CASE("of very many bands each shows its highest step") {
  const Model model = test::model_of(test::tiny_config());
  const Request request = test::request_for(model, {1, 9000, 2});
  Random random(5);
  test::RandomStyle style;
  style.untiled_rows = 0;
  std::vector<PassDecision> decisions = test::random_plan(model, request, 1, style, {}, random).decisions;
  for (PassDecision& decision : decisions) decision.tile.y = 1;
  const Plan plan = build_plan(model, request, {}, decisions, planner::cpu_memory_model(model.graph));
  size_t bands = 0, steps = 0;
  for (const Pass& pass : plan.passes) {
    bands += pass.tiles.y.size();
    steps += pass.tiles.y.size() * pass.steps.size();
  }
  REQUIRE(steps > 200'000);
  const Timeline timeline = predicted_timeline(document_of(plan, model));
  CHECK(timeline.size() == bands);
  CHECK(timeline.total_bytes(timeline.peak()) == plan.predicted_peak_bytes);
  for (size_t i = 0; i < timeline.size(); i += 997) CHECK(uses_of(timeline.live_set(i)) == timeline.use(i));
}

using test::Random;

Timeline timeline_of(std::vector<std::pair<double, int64_t>> moments, std::vector<DriverSample> driver) {
  std::vector<double> seconds;
  std::vector<MemoryUse> use;
  for (const auto& [at, bytes] : moments) {
    seconds.push_back(at);
    use.push_back({bytes});
  }
  return TimelineData{seconds, use, 100, 0, {}, {}, std::move(driver)};
}

void check(const std::optional<DriverDifference>& found, double seconds, int64_t driver, int64_t counted) {
  REQUIRE(found);
  CHECK(found->seconds == seconds);
  CHECK(found->driver_bytes == driver);
  CHECK(found->counted_bytes == counted);
}

TEST_CASE("the driver's count: the largest difference, above or below") {
  CHECK_FALSE(largest_difference(timeline_of({{0, 5}}, {})));
  check(largest_difference(timeline_of({{1, 100}}, {{0.5, 30}, {2, 110}})), 0.5, 30, 0);
  check(largest_difference(timeline_of({{0, 100}, {2, 300}}, {{1, 150}, {3, 200}, {4, 310}})), 3, 200, 300);
  // The first of equal ones.
  check(largest_difference(timeline_of({{0, 100}}, {{1, 90}, {2, 110}})), 1, 90, 100);
  // At one time any moment may be what the driver saw, the one before too, but nothing between them.
  const std::vector<std::pair<double, int64_t>> same{{0, 100}, {1, 500}, {1, 200}, {1, 400}};
  for (const int64_t bytes : {100, 200, 400, 500})
    check(largest_difference(timeline_of(same, {{1, bytes}})), 1, bytes, bytes);
  check(largest_difference(timeline_of(same, {{1, 290}})), 1, 290, 200);
  check(largest_difference(timeline_of(same, {{1, 600}})), 1, 600, 500);
  check(largest_difference(timeline_of(same, {{1.5, 100}})), 1.5, 100, 400);
  check(largest_difference(timeline_of(same, {{1, 500}, {1, -10}, {2, 400}})), 1, -10, 100);
}

TEST_CASE("the driver's count: very many samples and moments of one time take no longer for it") {
  constexpr size_t kMany = 400'000;
  std::vector<std::pair<double, int64_t>> moments(kMany, {1, 5});
  check(largest_difference(timeline_of(moments, std::vector<DriverSample>(kMany, {1, 7}))), 1, 7, 5);
}

TEST_CASE("the driver's count is drawn with its highest of every column, and what holds between") {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    std::vector<DriverSample> driver;
    double at = random.uniform(0, 1);
    for (int64_t i = random.integer(1, 300); i > 0; --i) {
      driver.push_back({at, random.integer(0, 1000)});
      if (random.chance(0.8)) at += random.uniform(0, 0.1);
    }
    const double begin = random.uniform(-0.5, at), end = random.uniform(begin, at + 0.5);
    const auto columns = static_cast<size_t>(random.integer(1, 100));
    const Series series = driver_series(driver, begin, end, columns);
    REQUIRE(series.x.size() == series.y.size());
    CHECK(series.x.size() <= 2 * columns + 2);
    CHECK(std::is_sorted(series.x.begin(), series.x.end()));
    std::vector<int64_t> seen;
    for (const DriverSample& sample : driver) {
      if (sample.seconds <= begin) seen = {sample.bytes};  // holds until the next
      if (sample.seconds > begin && sample.seconds <= end) seen.push_back(sample.bytes);
    }
    if (seen.empty()) {
      CHECK(series.x.empty());
      continue;
    }
    REQUIRE_FALSE(series.x.empty());
    CHECK(series.x.front() >= begin);
    CHECK(series.x.back() == end);
    CHECK(series.y.back() == double(seen.back()));
    CHECK(*std::max_element(series.y.begin(), series.y.end()) ==
          double(*std::max_element(seen.begin(), seen.end())));
    for (const double y : series.y)
      CHECK(std::find(seen.begin(), seen.end(), static_cast<int64_t>(y)) != seen.end());
  }
  // With enough columns every sample is there, at its time.
  CHECK(driver_series({{1, 5}, {2, 9}, {2.5, 3}}, 0, 4, 100).x == std::vector<double>{1, 2, 2.5, 4});
  CHECK(driver_series({{1, 5}, {2, 9}, {2.5, 3}}, 0, 4, 100).y == std::vector<double>{5, 9, 3, 3});
  CHECK(driver_series({{0, 1}}, 2, 1, 10).x.empty());
  CHECK(driver_series({{0, 1}}, 0, 1, 0).x.empty());
}

}  // namespace
}  // namespace headroom::reports
