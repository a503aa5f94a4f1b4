#include "profiler/events/join_events.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "decoder/trace/trace_file.h"
#include "tests/decoder/files/scratch.h"
#include "tests/decoder/plan/small_plan.h"
#include "tests/support/captured_decode.h"

namespace headroom::profiler {
namespace {

using test::CapturedDecode;
using test::hear_decode;
using test::Hearing;
using test::Random;

struct Program {
  Graph graph = testing::small_graph();
  Plan plan = testing::small_plan(graph);

  Trace join(const DeviceRecording& recording, const TraceBounds& bounds = {}) const {
    return join_events(recording, plan, bounds);
  }
};

int64_t sum(const KindBytes& live) {
  int64_t all = 0;
  for (int64_t bytes : live) all += bytes;
  return all;
}

int64_t first_ns(const CapturedDecode& captured) {
  return captured.truth.begin()->first;
}
int64_t ns_of(double seconds, const CapturedDecode& captured) {
  return first_ns(captured) + std::llround(seconds * 1e9);
}

/// Requires two traces to agree, whatever the order of the captured events.
void require_same(const Trace& a, const Trace& b) {
  REQUIRE(a.events == b.events);
  REQUIRE(a.steps == b.steps);
  REQUIRE(a.tiles == b.tiles);
  REQUIRE(a.passes == b.passes);
  REQUIRE(a.step_sums == b.step_sums);
  REQUIRE(a.activities == b.activities);
  REQUIRE(a.activity_names == b.activity_names);
  REQUIRE(a.activities_of_no_step == b.activities_of_no_step);
  REQUIRE(a.driver == b.driver);
  REQUIRE(a.records_lost == b.records_lost);
}

void shuffle(std::vector<DeviceEvent>& events, Random& random) {
  for (size_t i = events.size(); i-- > 1;)
    std::swap(events[i], events[static_cast<size_t>(random.integer(0, static_cast<int64_t>(i)))]);
}

TEST_CASE("every kind is at every event what it really was, and all of them what the driver had given",
          "[unit][join]") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{20}));
  const bool memory = GENERATE(true, false);
  CAPTURE(seed, memory);
  const Program program;
  const CapturedDecode captured = hear_decode(seed, program.plan, {.kernels = false, .memory = memory});
  const Trace trace = program.join(captured.recording);
  CHECK_FALSE(trace.by_device_clock);
  CHECK(trace.records_lost == 0);
  KindBytes live{};
  size_t moments = 0;
  for (size_t i = 0; i < trace.events.size(); ++i) {
    const TraceEvent& event = trace.events[i];
    apply(event, live);
    CAPTURE(i, key_of(event.kind), event.seconds);
    // The decode's own allocations lie in memory that is already reserved.
    if (static_cast<size_t>(event.kind) < kDecodeKinds) REQUIRE(event.bytes + event.slack_bytes == 0);
    const bool moment_ends = i + 1 == trace.events.size() || trace.events[i + 1].seconds > event.seconds;
    if (!moment_ends) continue;
    ++moments;
    const auto truth = captured.truth.find(ns_of(event.seconds, captured));
    REQUIRE(truth != captured.truth.end());
    REQUIRE(live == truth->second);
  }
  size_t changes = 0;
  KindBytes before{};
  for (const auto& [at_ns, now] : captured.truth) {
    changes += now == before ? 0 : 1;
    before = now;
  }
  CHECK(moments == changes);
  for (const DriverSample& sample : trace.driver)
    CHECK(captured.all_at(ns_of(sample.seconds, captured)) == sample.bytes);
  CHECK(trace.device == "a GPU");
  CHECK(trace.limit_bytes == program.plan.limit_bytes);
}

TEST_CASE("by the device's clock all kinds still add up, and come in the order of the host", "[unit][join]") {
  const uint64_t seed = GENERATE(range(uint64_t{20}, uint64_t{40}));
  CAPTURE(seed);
  const Program program;
  const CapturedDecode captured = hear_decode(seed, program.plan);
  const Trace trace = program.join(captured.recording);
  CHECK(trace.by_device_clock);
  KindBytes live{};
  for (size_t i = 0; i < trace.events.size(); ++i) {
    apply(trace.events[i], live);
    for (int64_t bytes : live) REQUIRE(bytes >= 0);
    const double seconds = trace.events[i].seconds;
    REQUIRE((i == 0 || trace.events[i - 1].seconds <= seconds));
    if (i + 1 == trace.events.size() || trace.events[i + 1].seconds > seconds)
      REQUIRE(sum(live) == captured.all_at(ns_of(seconds, captured)));
  }
  // The host's clock moves them, no more.
  CapturedDecode without = hear_decode(seed, program.plan);
  std::erase_if(without.recording.events,
                [](const DeviceEvent& event) { return std::holds_alternative<ScopeOfCall>(event); });
  const Trace by_host = program.join(without.recording);
  CHECK_FALSE(by_host.by_device_clock);
  CHECK(by_host.activities_of_no_step == static_cast<int64_t>(by_host.activities.size()));
  const auto own = [](const Trace& of) {
    std::vector<std::pair<int64_t, TensorId>> list;
    for (const TraceEvent& event : of.events) {
      if (static_cast<size_t>(event.kind) < kDecodeKinds) list.emplace_back(event.bytes, event.layer);
    }
    return list;
  };
  CHECK(own(trace) == own(by_host));
}

TEST_CASE("a step begins with its first kernel and what it took is there from then on", "[unit][join]") {
  const uint64_t seed = GENERATE(range(uint64_t{40}, uint64_t{50}));
  CAPTURE(seed);
  const Program program;
  const CapturedDecode captured = hear_decode(seed, program.plan);
  const Trace trace = program.join(captured.recording);
  std::map<std::tuple<int32_t, int64_t, int32_t>, std::pair<double, double>> kernels;
  std::map<std::pair<int32_t, int32_t>, double> busy;
  for (const TraceActivity& one : trace.activities) {
    if (one.step < 0) continue;
    busy[{one.pass, one.step}] += one.end_seconds - one.begin_seconds;
    if (one.kind != ActivityKind::kernel) continue;
    const auto [entry, is_new] =
        kernels.try_emplace({one.pass, one.tile, one.step}, one.begin_seconds, one.end_seconds);
    entry->second.first = std::min(entry->second.first, one.begin_seconds);
    entry->second.second = std::max(entry->second.second, one.end_seconds);
  }
  REQUIRE_FALSE(kernels.empty());
  for (const TraceInterval& step : trace.steps) {
    const auto found = kernels.find({step.pass, step.tile, step.step});
    if (found == kernels.end()) continue;
    CHECK(step.begin_seconds == Approx(found->second.first).margin(1e-12));
    CHECK(step.end_seconds == Approx(found->second.second).margin(1e-12));
  }
  for (const TraceEvent& event : trace.events) {
    if (event.kind != MemoryKind::tile || event.bytes < 0 || event.tile < 0) continue;
    const bool begins = std::any_of(trace.steps.begin(), trace.steps.end(), [&](const TraceInterval& step) {
      return step.pass == event.pass && step.tile == event.tile && event.seconds >= step.begin_seconds &&
             event.seconds <= step.end_seconds;
    });
    CHECK(begins);
  }
  for (const TraceStepSum& sums : trace.step_sums)
    CHECK(sums.device_seconds == Approx(busy[{sums.pass, sums.step}]).margin(1e-9));
}

TEST_CASE("the order in which records arrive is of no matter, nor that counters begin again",
          "[unit][join]") {
  const uint64_t seed = GENERATE(range(uint64_t{50}, uint64_t{60}));
  CAPTURE(seed);
  const Program program;
  const Trace expected = program.join(hear_decode(seed, program.plan).recording);
  Random random(seed);
  CapturedDecode captured = hear_decode(seed, program.plan, {.first_correlation = UINT32_MAX - 20});
  require_same(program.join(captured.recording), expected);
  shuffle(captured.recording.events, random);
  require_same(program.join(captured.recording), expected);
}

TEST_CASE("a number of a call that comes again belongs to the scope that ran last", "[unit][join]") {
  const Program program;
  DeviceRecording recording;
  for (uint64_t scope = 1; scope <= 3; ++scope) {
    const auto at = static_cast<int64_t>(scope * 1000);
    recording.events.push_back(ScopeBegan{at, ScopeId{scope}, 0, 0, 0, static_cast<int32_t>(scope) - 1});
    recording.events.push_back(ScopeOfCall{5, ScopeId{scope}});
    recording.events.push_back(DeviceActivity{at + 100, at + 200, 5, 7, 0, ActivityKind::kernel, "k"});
  }
  std::reverse(recording.events.begin(), recording.events.end());
  const Trace trace = program.join(recording);
  REQUIRE(trace.activities.size() == 3);
  for (int32_t i = 0; i < 3; ++i) CHECK(trace.activities[static_cast<size_t>(i)].step == i);
}

TEST_CASE("whatever is lost, nothing is below zero and the driver's word stands", "[unit][join]") {
  const uint64_t seed = GENERATE(range(uint64_t{60}, uint64_t{90}));
  CAPTURE(seed);
  const Program program;
  CapturedDecode captured = hear_decode(seed, program.plan);
  Random random(seed);
  // Records are lost by whole buffers as well as one by one.
  const double share = random.chance(0.5) ? 0.05 : 0.4;
  bool buffer = false;
  int64_t lost = 0;
  std::erase_if(captured.recording.events, [&](const DeviceEvent& event) {
    if (random.chance(0.02)) buffer = !buffer && random.chance(0.5);
    if (std::holds_alternative<DriverCounted>(event) || !(buffer || random.chance(share))) return false;
    ++lost;
    return true;
  });
  captured.recording.events.push_back(RecordsLost{lost});
  shuffle(captured.recording.events, random);
  const Trace trace = program.join(captured.recording);
  CHECK(trace.records_lost >= lost);
  KindBytes live{};
  size_t sample = 0;
  for (size_t i = 0; i < trace.events.size(); ++i) {
    apply(trace.events[i], live);
    for (int64_t bytes : live) REQUIRE(bytes >= 0);
    const bool moment_ends =
        i + 1 == trace.events.size() || trace.events[i + 1].seconds > trace.events[i].seconds;
    while (sample < trace.driver.size() && trace.driver[sample].seconds < trace.events[i].seconds) ++sample;
    if (!moment_ends || sample == trace.driver.size() ||
        trace.driver[sample].seconds != trace.events[i].seconds)
      continue;
    REQUIRE(sum(live) >= trace.driver[sample].bytes);
    if (live[static_cast<size_t>(MemoryKind::context)] > 0) REQUIRE(sum(live) == trace.driver[sample].bytes);
  }
  // Its file is one that is read again.
  const test::Scratch scratch;
  Trace named = trace;
  named.request = {"a model", 16, 16, 1, 1, Dtype::fp32, DeviceKind::cuda};
  write_trace(scratch / "trace.json", named, program.plan, program.graph);
  CHECK(read_traces(scratch / "trace.json").at(0).trace.events.size() == trace.events.size());
}

TEST_CASE("sums over steps and passes add up to the same", "[unit][join]") {
  const uint64_t seed = GENERATE(range(uint64_t{90}, uint64_t{96}));
  const bool by_pass = GENERATE(false, true);
  CAPTURE(seed, by_pass);
  const Program program;
  const CapturedDecode captured = hear_decode(seed, program.plan, {.kernels = false});
  const Trace single = program.join(captured.recording);
  const Trace summed = program.join(captured.recording,
                                    {.single_events = 20, .events = by_pass ? size_t{40} : size_t{1} << 20});
  CHECK(summed.summed_by_step_from_seconds >= 0);
  CHECK((summed.summed_by_pass_from_seconds >= 0) == by_pass);
  const auto peak = [&](const Trace& trace) {
    KindBytes live{};
    int64_t most = 0;
    for (size_t i = 0; i < trace.events.size(); ++i) {
      apply(trace.events[i], live);
      if (i + 1 < trace.events.size() && trace.events[i + 1].seconds == trace.events[i].seconds) continue;
      for (int64_t bytes : live) REQUIRE(bytes >= 0);
      REQUIRE(sum(live) == captured.all_at(ns_of(trace.events[i].seconds, captured)));
      int64_t asked = 0;
      for (size_t kind = 0; kind < kDecodeKinds; ++kind) asked += live[kind];
      most = std::max(most, asked);
    }
    return most;
  };
  CHECK(peak(summed) == peak(single));
  // The driver's answer is reported at once, not with the next sum.
  KindBytes live{};
  size_t next = 0;
  for (const DriverSample& sample : summed.driver) {
    while (next < summed.events.size() && summed.events[next].seconds <= sample.seconds)
      apply(summed.events[next++], live);
    CHECK(sum(live) == sample.bytes);
  }
}

TEST_CASE("contradictions are counted and set right", "[unit][join]") {
  const Program program;
  DeviceRecording recording;
  recording.events = {
      SegmentChanged{1000, 4096, 1 << 20},
      Allocated{1100, 4096, 512, MemoryKind::tile, TensorId{1}},
      Allocated{1200, 4096, 1024, MemoryKind::kept, TensorId{2}},  // at the same place
      Freed{1300, 99},                                             // was never taken
      Allocated{1400, 1 << 16, 2 << 20, MemoryKind::workspace},    // more than there is
      DriverMemoryChanged{1500, 7, -100},                          // was never given
      DriverMemoryChanged{1600, 8, 100},
      DriverMemoryChanged{1700, 8, 300},  // twice
      SegmentChanged{1800, 4096, -(1 << 20)},
  };
  const Trace trace = program.join(recording);
  CHECK(trace.records_lost >= 4);
  KindBytes live{};
  for (const TraceEvent& event : trace.events) {
    apply(event, live);
    for (int64_t bytes : live) REQUIRE(bytes >= 0);
  }
  CHECK(live[static_cast<size_t>(MemoryKind::libraries)] == 300);
  for (MemoryKind kind : {MemoryKind::tile, MemoryKind::kept, MemoryKind::workspace})
    CHECK(live[static_cast<size_t>(kind)] == 0);
}

TEST_CASE("segments are unmapped by addresses, whatever they were mapped by", "[unit][join]") {
  const Program program;
  const auto slack_after = [&](const std::vector<std::pair<uint64_t, int64_t>>& changes) {
    DeviceRecording recording;
    int64_t at = 1000;
    for (const auto& [address, bytes] : changes)
      recording.events.push_back(SegmentChanged{++at, address, bytes});
    const Trace trace = program.join(recording);
    CHECK(trace.records_lost == 0);
    KindBytes live{};
    for (const TraceEvent& event : trace.events) apply(event, live);
    return live[static_cast<size_t>(MemoryKind::slack)];
  };
  CHECK(slack_after({{1000, 20}, {1020, 40}, {1000, -60}}) == 0);
  CHECK(slack_after({{1000, 60}, {1000, -40}, {1040, -20}}) == 0);
  CHECK(slack_after({{1000, 60}, {1020, -20}}) == 40);
  CHECK(slack_after({{1000, 60}, {1020, -20}, {1000, -20}, {1040, -20}}) == 0);
}

TEST_CASE("memory that was there before anything was reserved comes out of nothing's slack", "[unit][join]") {
  const Program program;
  DeviceRecording recording;
  recording.events = {Allocated{1000, 1, 100, MemoryKind::tile, TensorId{1}},
                      SegmentChanged{1100, 4096, 1000}, Freed{1200, 1}, SegmentChanged{1300, 4096, -1000}};
  const Trace trace = program.join(recording);
  CHECK(trace.records_lost == 0);
  KindBytes live{};
  for (const TraceEvent& event : trace.events) apply(event, live);
  CHECK(sum(live) == 0);
}

TEST_CASE("what a pass brings in before its first tile is that pass's", "[unit][join]") {
  const Program program;
  DeviceRecording recording;
  recording.events = {ScopeBegan{1000, ScopeId{1}, 0, 0, 0, 0}, ScopeBegan{2000, ScopeId{2}, 0, 1, -1, -1},
                      Allocated{2100, 1, 100, MemoryKind::weights}, ScopeBegan{3000, ScopeId{3}, 0, 1, 0, 0},
                      ScopeBegan{4000, ScopeId{4}, 0, 1, -1, -1}};
  const Trace trace = program.join(recording);
  REQUIRE(trace.events.size() == 1);
  CHECK(trace.events[0].pass == 1);
  CHECK(trace.events[0].tile == -1);
  REQUIRE(trace.passes.size() == 2);
  CHECK(trace.passes[1].begin_seconds == Approx(1e-6));
}

TEST_CASE("refusals are reported", "[unit][join]") {
  const Program program;
  DeviceRecording recording;
  recording.events = {DriverCounted{1000, 5}, MemoryRefused{3000, 300, 30}, MemoryRefused{2000, 200, 20}};
  const Trace trace = program.join(recording);
  REQUIRE(trace.sources.size() == 1);
  CHECK_THAT(trace.sources[0].detail,
             Catch::StartsWith("2 times") && Catch::Contains("300 bytes with 30 free"));
}

TEST_CASE("of one moment what is given comes first and what is taken back last", "[unit][join]") {
  const Program program;
  DeviceRecording recording;
  recording.events = {Allocated{1000, 4096, 512, MemoryKind::tile, TensorId{1}},
                      SegmentChanged{1000, 4096, 1024}, DriverCounted{2000, 1024},
                      SegmentChanged{2000, 4096, -1024}, Freed{2000, 4096}};
  const Trace trace = program.join(recording);
  CHECK(trace.records_lost == 0);
  REQUIRE(trace.events.size() == 4);
  CHECK(trace.events[0].kind == MemoryKind::slack);
  CHECK(trace.events[3].kind == MemoryKind::slack);
  CHECK(trace.events[3].bytes == -1024);
}

TEST_CASE("a driver that counts less than was given leaves nothing for the context", "[unit][join]") {
  const Program program;
  DeviceRecording recording;
  recording.events = {DriverCounted{1000, 300}, SegmentChanged{1100, 4096, 1024}, DriverCounted{1200, 900}};
  const Trace trace = program.join(recording);
  KindBytes live{};
  for (const TraceEvent& event : trace.events) apply(event, live);
  CHECK(live[static_cast<size_t>(MemoryKind::context)] == 0);
  CHECK(sum(live) == 1024);
}

TEST_CASE("a recording may begin late and end early", "[unit][join]") {
  const Program program;
  DeviceRecording recording;
  recording.events = {DeviceActivity{100, 200, 1, 7, 0, ActivityKind::kernel, "before"},
                      ScopeBegan{1000, ScopeId{1}, 0, 2, -1, -1},
                      ScopeOfCall{2, ScopeId{1}},
                      DeviceActivity{1100, 1200, 2, 7, 0, ActivityKind::kernel, "of no step"},
                      ScopeBegan{2000, ScopeId{2}, 0, 1, 0, 1},
                      ScopeOfCall{3, ScopeId{2}},
                      DeviceActivity{2100, 2200, 3, 7, 0, ActivityKind::kernel, "last"}};
  const Trace trace = program.join(recording);
  REQUIRE(trace.activities.size() == 2);
  CHECK(trace.activities[0].pass == 2);
  CHECK(trace.activities[0].step == -1);
  CHECK(trace.activities[1].pass == 1);
  CHECK(trace.activities_of_no_step == 0);
  // The step that was running when the recording ended.
  REQUIRE(trace.steps.size() == 1);
  CHECK(trace.steps[0].end_seconds - trace.steps[0].begin_seconds == Approx(100e-9));
  CHECK(trace.passes.size() == 2);
}

TEST_CASE("memory that calls take and nobody tells of is named", "[unit][join]") {
  const Program program;
  DeviceRecording recording;
  recording.events = {DriverCounted{1000, 1 << 20}, DriverCall{1100, 1200, 5, "cuMemCreate"},
                      DriverCall{1300, 1400, 6, "cuMemCreate"}, DriverMemoryChanged{1350, 4096, 512, 6},
                      DriverCall{1500, 1600, 7, "cuMemAlloc_v2"}};
  SECTION("but where LibTorch's allocator tells of it") {
    recording.events.push_back(SegmentChanged{1250, 1 << 20, 4096});
    CHECK(program.join(recording).sources.empty());
    return;
  }
  const Trace trace = program.join(recording);
  REQUIRE(trace.sources.size() == 1);
  CHECK(trace.sources[0].name == "cuMemCreate");
  CHECK_FALSE(trace.sources[0].captured);
  CHECK_THAT(trace.sources[0].detail, Catch::StartsWith("1 calls"));
}

}  // namespace
}  // namespace headroom::profiler
