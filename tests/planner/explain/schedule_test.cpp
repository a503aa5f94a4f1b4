#include "planner/explain/schedule.h"

#include <catch2/catch.hpp>
#include <map>
#include <regex>
#include <set>

#include "decoder/base/errors.h"
#include "decoder/schedule/peak.h"
#include "planner/cost/device_costs.h"
#include "tests/support/expected.h"
#include "tests/support/random_plan.h"
#include "tests/support/random_ranked_plan.h"

namespace headroom::planner {
namespace {

/// conv1, GroupNorm, conv2: 12 rows in 3 bands of 4. conv1 is kept in 3 blocks of 5 rows.
struct Example {
  Model model;
  Plan plan;

  Example() {
    model.name = "example";
    Graph& graph = model.graph;
    const TensorId a = graph.conv("conv1", graph.add_latent(4), 4, {1, 3, 3});
    const TensorId norm =
        graph.norm("norm", a, graph.statistics("norm.statistics", a, 2, 1e-6), Activation::silu);
    graph.set_output(graph.conv("conv2", norm, 3, {1, 3, 3}));
    const PassDecision first{.keeps = {a}, .tile = {1, 4, 12}}, second{.tile = {1, 4, 12}};
    const MemoryModel memory = cpu_memory_model(graph);
    plan = build_plan(model, {"example", 12, 12}, {}, {first, second}, memory);
    plan.kept[0].block_rows = 5;
    plan.reserve_bytes = 0;
    for (size_t pass = 0; pass < 2; ++pass)
      plan.passes[pass].predicted_peak_bytes = PassSweep(graph, plan, pass, memory).peak().bytes;
    plan.predicted_peak_bytes = plan.passes[1].predicted_peak_bytes;
  }
};

TEST_CASE("schedule: the whole text of a decode in two passes") {
  const Example example;
  test::check_expected("schedule.txt", schedule(example.plan, example.model));
  CHECK_THROWS_AS(schedule(example.plan, example.model, {.pass = 2}), InputError);
}

/// The bands of a schedule, parsed from its text.
struct ReadSchedule {
  std::vector<double> live;
  std::map<std::string, std::set<int64_t>> there;  ///< live blocks by tensor
  size_t awaited = 0;                              ///< rows awaited from other ranks

  /// Parses the schedule of one pass, with one line per band.
  void read(const std::string& text) {
    static const std::regex over("(\\S+) takes over the blocks of ([^ ;\n]+)");
    for (std::sregex_iterator match(text.begin(), text.end(), over), end; match != end; ++match) {
      there[(*match)[1]] = std::move(there[(*match)[2]]);
      there.erase((*match)[2]);
    }
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      static const std::regex band("  \\d+ +\\d\\S* +([\\d.]+) +([\\d.]+) +([\\d.]+) +([\\d.]+) +\\d+  (.*)");
      std::smatch found;
      if (std::regex_match(line, found, band)) {
        live.push_back(std::stod(found[4]));
        CHECK(std::stod(found[1]) + std::stod(found[2]) + std::stod(found[3]) == Approx(live.back()));
        move(found[5]);
      } else if (line.starts_with("  end")) {
        move(line);
      }
    }
  }

 private:
  void move(const std::string& events) {
    static const std::regex event("[^;]+"), blocks("(\\S+)\\[(\\d+)(?:\\.\\.(\\d+))?\\]"), rows(" rows? \\d");
    for (std::sregex_iterator part(events.begin(), events.end(), event), end; part != end; ++part) {
      const std::string text = part->str();
      if (text.find("waits for rank") != std::string::npos)
        awaited +=
            static_cast<size_t>(std::distance(std::sregex_iterator(text.begin(), text.end(), rows), end));
      for (std::sregex_iterator match(text.begin(), text.end(), blocks); match != end; ++match) {
        const int64_t first = std::stoll((*match)[2]),
                      last = (*match)[3].matched ? std::stoll((*match)[3]) : first;
        for (int64_t block = first; block <= last; ++block) {
          if (text.find("gives back") == std::string::npos) {
            CHECK(there[(*match)[1]].insert(block).second);
          } else {
            CHECK(there[(*match)[1]].erase(block) == 1);
          }
        }
      }
    }
  }
};

/// Parses the schedules of all passes and compares them with the plan. Returns the number of bands.
size_t check_schedule(const Model& model, const Plan& plan, const std::vector<RowTransfer>& transfers = {}) {
  const RoundedAmounts amounts(plan.predicted_peak_bytes);
  ReadSchedule all;
  for (size_t pass = 0; pass < plan.passes.size(); ++pass) {
    const size_t before = all.live.size();
    all.read(schedule(plan, model, {.pass = pass, .transfers = transfers}));
    CHECK(all.live.size() == before + plan.passes[pass].tiles.y.size());
    if (all.live.size() == before) continue;
    const double highest = *std::max_element(all.live.begin() + static_cast<int64_t>(before), all.live.end());
    CHECK(highest == std::stod(amounts.text(plan.passes[pass].predicted_peak_bytes)));
  }
  if (!all.live.empty())
    CHECK(*std::max_element(all.live.begin(), all.live.end()) ==
          std::stod(amounts.text(plan.predicted_peak_bytes)));
  for (const auto& [name, blocks] : all.there) {
    CAPTURE(name);
    CHECK(blocks.empty());
  }
  const size_t incoming = static_cast<size_t>(std::count_if(
      transfers.begin(), transfers.end(), [&](const RowTransfer& t) { return t.to == plan.share.rank; }));
  CHECK(all.awaited == incoming);
  return all.live.size();
}

TEST_CASE("schedule: live bytes reach the peak of each pass, and blocks come and go once") {
  size_t bands = 0;
  int staged = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    test::Random random(seed);
    const Model model = test::draw_small_model(random).model;
    const bool clip = model.graph.tensor(model.graph.output()).scale.t > 1;
    const Extent latent{clip ? random.integer(1, 3) : 1, random.integer(2, 19), random.integer(2, 19)};
    test::RandomStyle style;
    style.below = random.pick<double>({0, 0.7});
    style.untiled_rows = 0.1;
    const DeviceKind device = random.pick<DeviceKind>({DeviceKind::cpu, DeviceKind::cuda});
    if (device == DeviceKind::cuda) style.form = ConvolutionAlgorithm::direct;
    MemoryModel memory = memory_model_of(model.graph, device_record(device));
    memory.block_bytes = 1000;
    const PlanConfiguration configuration{
        .weights = random.pick<WeightResidency>({WeightResidency::resident, WeightResidency::per_pass}),
        .lower_tier = device == DeviceKind::cuda ? MemoryTier::host : MemoryTier::scratch};
    const Request request = test::request_for(model, latent, 2, Dtype::fp32, device);
    const Plan plan =
        test::random_plan(model, request, random.integer(1, 2), style, memory, random, {}, configuration)
            .plan;
    staged += test::staged_attentions(plan);
    bands += check_schedule(model, plan);
  }
  CHECK(staged > 0);
  CHECK(bands > 500);
}

TEST_CASE("schedule: each rank waits once for all rows that others send it") {
  size_t sent = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    test::Random random(seed);
    const Model model = test::draw_small_model(random).model;
    const Request request = test::request_for(model, {1, random.integer(3, 9), random.integer(2, 9)});
    MemoryModel memory = cpu_memory_model(model.graph);
    memory.block_bytes = 1000;
    const Plans ranks = test::draw_ranked_plan(model, request, 3, {}, memory, random);
    sent += ranks.transfers.size();
    for (const Plan& plan : ranks.plans) check_schedule(model, plan, ranks.transfers);
  }
  CHECK(sent > 100);
}

TEST_CASE("schedule: a long pass has its first bands, its last ones and its peak") {
  Example example;
  Plan& plan = example.plan;
  const std::string whole = schedule(plan, example.model);
  CHECK_THAT(whole, !Catch::Contains("more; --pass"));
  // Bands of three rows and blocks of seven rows. Only every second or third band allocates a block.
  plan.request.width_pixels = 12;
  plan.request.height_pixels = 120;
  plan.kept[0].block_rows = 7;
  for (Pass& pass : plan.passes) {
    pass.tiles.y.clear();
    for (int64_t row = 0; row < 120; row += 3) pass.tiles.y.push_back({row, row + 3});
  }
  const MemoryModel memory = cpu_memory_model(example.model.graph);
  for (size_t pass = 0; pass < 2; ++pass)
    plan.passes[pass].predicted_peak_bytes = PassSweep(example.model.graph, plan, pass, memory).peak().bytes;
  // The profile measured more workspace than the memory model assumes.
  plan.passes[1].predicted_peak_bytes += 5000;
  plan.predicted_peak_bytes = plan.passes[1].predicted_peak_bytes;
  const std::string cut = schedule(plan, example.model);
  CHECK_THAT(
      cut, Catch::Contains(": 4.88 of it was measured by the profile in addition to the assumed workspace"));
  CHECK_THAT(cut, Catch::Contains(" bands more; --pass 0 shows them all") &&
                      Catch::Contains("the peak of the plan"));
  CHECK(std::count(cut.begin(), cut.end(), '\n') < 60);
  check_schedule(example.model, plan);
}

}  // namespace
}  // namespace headroom::planner
