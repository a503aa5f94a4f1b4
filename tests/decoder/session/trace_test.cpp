#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "decoder/base/json_fields.h"
#include "decoder/schedule/storage.h"
#include "decoder/session/cpu_session.h"
#include "decoder/session/trace_recorder.h"
#include "decoder/trace/trace_file.h"
#include "tests/decoder/files/scratch.h"
#include "tests/support/decoding.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_model.h"

namespace headroom {
namespace {

using nlohmann::json;
using test::Random;
using test::request_for;

/// Records the pool's allocations, and forwards all events to a recorder.
class Listening final : public EventSink, public MemoryObserver {
 public:
  explicit Listening(EventSink& recorder) : recorder_(recorder) {}
  void step_done(const Plan& plan, const StepDone& done) override {
    ++steps;
    recorder_.step_done(plan, done);
  }
  void tile_started(const Plan& plan, int32_t pass, int64_t tile, int64_t all) override {
    ++tiles;
    recorder_.tile_started(plan, pass, tile, all);
  }
  void allocating(MemoryKind kind, TensorId tensor) override { recorder_.allocating(kind, tensor); }
  void holds_tile(const void* memory) override { recorder_.holds_tile(memory); }
  MemoryObserver* memory_observer() override { return this; }
  void allocated(const void* memory, int64_t bytes, int64_t live_bytes, int64_t warm_bytes) override {
    live.push_back(live_bytes);
    recorder_.memory_observer()->allocated(memory, bytes, live_bytes, warm_bytes);
  }
  void freed(const void* memory, int64_t bytes, int64_t live_bytes, int64_t warm_bytes) override {
    live.push_back(live_bytes);
    recorder_.memory_observer()->freed(memory, bytes, live_bytes, warm_bytes);
  }

  std::vector<int64_t> live;
  int64_t steps = 0, tiles = 0;

 private:
  EventSink& recorder_;
};

struct Recorded {
  Model model;
  Plan plan;
  Trace trace;
  RunStats stats;
  std::vector<int64_t> live;
  int64_t steps = 0, tiles = 0;
};

Recorded record(uint64_t seed, const TraceBounds& bounds) {
  Random random(seed);
  Recorded recorded;
  recorded.model = test::model_of(test::random_config(random));
  const int64_t batch = random.integer(1, 2);
  const Request request =
      request_for(recorded.model, {1, random.integer(4, 16), random.integer(4, 16)}, batch);
  recorded.plan = test::random_plan(recorded.model, request, random.integer(1, batch), {}, {}, random).plan;
  recorded.plan.limit_bytes = int64_t{1} << 40;
  TraceRecorder recorder(nullptr, bounds);
  Listening listening(recorder);
  const Array latent = test::latent_for(recorded.model, request, seed);
  recorded.stats =
      test::decode_to_memory(recorded.model, recorded.plan, test::random_source(seed), latent, &listening)
          .stats;
  recorded.trace = recorder.finish();
  recorded.live = listening.live;
  recorded.steps = listening.steps;
  recorded.tiles = listening.tiles;
  return recorded;
}

TEST_CASE("the kinds of a trace add up to what the pool holds, at every event") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{8}));
  CAPTURE(seed);
  const Recorded recorded = record(seed, {});
  const Trace& trace = recorded.trace;
  REQUIRE(trace.events.size() == recorded.live.size());
  std::array<int64_t, kEventKinds> live{}, most{};
  int64_t sum = 0, largest = 0;
  double before = 0;
  for (size_t i = 0; i < trace.events.size(); ++i) {
    const TraceEvent& event = trace.events[i];
    const auto kind = static_cast<size_t>(event.kind);
    live[kind] += event.bytes;
    most[kind] = std::max(most[kind], live[kind]);
    sum += event.bytes;
    largest = std::max(largest, sum);
    CAPTURE(i, key_of(event.kind));
    REQUIRE(sum == recorded.live[i]);
    REQUIRE(live[kind] >= 0);
    REQUIRE(event.seconds >= before);
    before = event.seconds;
  }
  CHECK(sum == 0);
  CHECK(largest == recorded.stats.pool_peak_bytes);
  CHECK(most[size_t(MemoryKind::weights)] >= recorded.plan.weights_bytes);
  CHECK(most[size_t(MemoryKind::latent)] > 0);
  CHECK(most[size_t(MemoryKind::tile)] > 0);
  bool takes_workspace = false;
  for (const Pass& pass : recorded.plan.passes) {
    for (const Step& step : pass.steps) {
      const bool transforms = runs_winograd(recorded.model.graph, pass.convolutions, step.op);
      takes_workspace = takes_workspace || transforms || step.kind == OpKind::attention;
    }
  }
  CHECK((most[size_t(MemoryKind::workspace)] > 0) == takes_workspace);
  CHECK((most[size_t(MemoryKind::kept)] > 0) == !recorded.plan.kept.empty());
  CHECK(trace.summed_by_step_from_seconds < 0);
  CHECK_FALSE(trace.outside.empty());
}

TEST_CASE("a trace has the place of every allocation of pages, and none lies on another") {
  size_t places = 0;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    CAPTURE(seed);
    const Trace trace = record(seed, {}).trace;
    places += trace.places.size();
    size_t next = 0;
    for (const TraceEvent& event : trace.events) {
      if (event.bytes < cpu::kSmallestPagedBytes) continue;
      REQUIRE(next < trace.places.size());
      const TracePlace& place = trace.places[next++];
      CHECK(place.begin_seconds == event.seconds);
      CHECK(place.bytes == event.bytes);
      CHECK(place.kind == event.kind);
      CHECK(place.layer == event.layer);
      CHECK(place.pass == event.pass);
    }
    CHECK(next == trace.places.size());
    // An allocation's interval ends when it is freed, or at the end of the trace.
    std::multiset<std::pair<double, int64_t>> given_back;
    for (const TraceEvent& event : trace.events) {
      if (-event.bytes >= cpu::kSmallestPagedBytes) given_back.emplace(event.seconds, -event.bytes);
    }
    for (const TracePlace& place : trace.places) {
      const auto event = given_back.find({place.end_seconds, place.bytes});
      if (event == given_back.end()) {
        CHECK(place.end_seconds == trace.seconds);
      } else {
        given_back.erase(event);
      }
    }
    CHECK(given_back.empty());
    for (size_t i = 0; i < trace.places.size(); ++i) {
      const TracePlace& a = trace.places[i];
      CHECK(a.begin_seconds <= a.end_seconds);
      CHECK(a.end_seconds <= trace.seconds);
      CHECK(a.offset >= 0);
      for (size_t j = 0; j < i; ++j) {
        const TracePlace& b = trace.places[j];
        const bool apart = b.end_seconds <= a.begin_seconds || a.end_seconds <= b.begin_seconds ||
                           b.offset + b.bytes <= a.offset || a.offset + a.bytes <= b.offset;
        REQUIRE(apart);
      }
    }
    TraceBounds few;
    few.places = 3;
    const Trace bounded = record(seed, few).trace;
    CHECK(bounded.places.size() == std::min<size_t>(3, trace.places.size()));
    CHECK(bounded.places_left_out == std::ssize(trace.places) - std::ssize(bounded.places));
  }
  CHECK(places > 50);
}

TEST_CASE("a trace has every pass, tile and step, one inside the other") {
  const Recorded recorded = record(20, {});
  const Trace& trace = recorded.trace;
  const int64_t micro_batches =
      (recorded.plan.request.batch + recorded.plan.micro_batch - 1) / recorded.plan.micro_batch;
  CHECK(trace.passes.size() == recorded.plan.passes.size() * static_cast<size_t>(micro_batches));
  CHECK(static_cast<int64_t>(trace.tiles.size()) == recorded.tiles);
  CHECK(static_cast<int64_t>(trace.steps.size()) == recorded.steps);
  int64_t calls = 0;
  for (const TraceStepSum& sum : trace.step_sums) calls += sum.calls;
  CHECK(calls == recorded.steps);
  const auto inside = [](const TraceInterval& inner, const std::vector<TraceInterval>& list) {
    return std::any_of(list.begin(), list.end(), [&](const TraceInterval& outer) {
      return outer.pass == inner.pass && outer.item == inner.item &&
             outer.begin_seconds <= inner.begin_seconds + 1e-4 && inner.end_seconds <= outer.end_seconds;
    });
  };
  for (const TraceInterval& tile : trace.tiles) CHECK(inside(tile, trace.passes));
  for (const TraceInterval& step : trace.steps) {
    CHECK(step.begin_seconds <= step.end_seconds);
    CHECK(inside(step, trace.tiles));
  }
}

TEST_CASE("a trace within tight bounds still has the peak, and adds up where it was summed") {
  const uint64_t seed = GENERATE(range(uint64_t{30}, uint64_t{36}));
  const bool by_pass = GENERATE(false, true);
  CAPTURE(seed, by_pass);
  TraceBounds bounds{.single_events = 200,
                     .events = by_pass ? size_t{260} : size_t{100'000},
                     .tiles = 3,
                     .steps = 5,
                     .outside = 2};
  const Recorded recorded = record(seed, bounds);
  const Trace& trace = recorded.trace;
  REQUIRE(recorded.live.size() > bounds.single_events);
  CHECK(trace.summed_by_step_from_seconds >= 0);
  CHECK(trace.events.size() < recorded.live.size());
  std::array<int64_t, kEventKinds> live{};
  int64_t largest = 0;
  for (size_t i = 0; i < trace.events.size(); ++i) {
    live[static_cast<size_t>(trace.events[i].kind)] += trace.events[i].bytes;
    REQUIRE(live[static_cast<size_t>(trace.events[i].kind)] >= 0);
    const bool moment_ends =
        i + 1 == trace.events.size() || trace.events[i + 1].seconds > trace.events[i].seconds;
    int64_t sum = 0;
    for (int64_t bytes : live) sum += bytes;
    if (moment_ends || i < bounds.single_events) largest = std::max(largest, sum);
  }
  for (int64_t bytes : live) CHECK(bytes == 0);
  CHECK(largest == recorded.stats.pool_peak_bytes);
  CHECK(static_cast<int64_t>(trace.tiles.size()) + trace.tiles_left_out == recorded.tiles);
  CHECK(static_cast<int64_t>(trace.steps.size()) + trace.steps_left_out == recorded.steps);
}

TEST_CASE("a session goes on after traced decodes, those that fail too, and later ones are traced in full") {
  Random random(7);
  const Model model = test::model_of(test::random_config(random));
  const Request request = request_for(model, {1, 8, 8}, 1);
  std::vector<Plan> plans{test::random_plan(model, request, 1, {}, {}, random).plan};
  plans[0].weights = WeightResidency::resident;
  plans[0].limit_bytes = int64_t{1} << 32;
  const ParameterSource source = test::random_source(7);
  const Array latent = test::latent_for(model, request, 7);
  start_libraries(2);
  CpuSession session({model, source, plans, plans[0].limit_bytes, plans[0].limit_bytes});
  const auto traced = [&] {
    TraceRecorder recorder;
    test::MemorySink sink(test::picture_shape(model, request));
    session.decode(0, latent, sink, &recorder);
    std::map<MemoryKind, int64_t> most, live;
    for (const TraceEvent& event : recorder.finish().events)
      most[event.kind] = std::max(most[event.kind], live[event.kind] += event.bytes);
    for (const auto& [kind, bytes] : live) CHECK(bytes == 0);
    return most[MemoryKind::weights];
  };
  const int64_t weights_bytes = traced();
  CHECK(weights_bytes > 0);
  CHECK(traced() == weights_bytes);
  {
    TraceRecorder recorder;
    test::MemorySink sink(test::picture_shape(model, request));
    session.limit_to(session.pool().live_bytes() + 64, 0);
    CHECK_THROWS_AS(session.decode(0, latent, sink, &recorder), LimitExceeded);
  }
  session.drop_weights();  // the recorders no longer exist
  CHECK(session.pool().live_bytes() == 0);
  session.limit_to(plans[0].limit_bytes, plans[0].limit_bytes);
  CHECK(traced() == weights_bytes);
}

TEST_CASE("the files of a trace can be read again") {
  const test::Scratch scratch;
  Recorded recorded = record(40, {});
  recorded.trace.model = "a \"model\"";
  recorded.trace.request = recorded.plan.request;
  write_trace(scratch / "trace.json", recorded.trace, recorded.plan, recorded.model.graph);

  const json trace = read_json_file(scratch / "trace.json", 1 << 28);
  CHECK(trace["schema"] == "headroom.trace");
  CHECK(trace["version"] == 3);
  CHECK(trace["model"] == "a \"model\"");
  CHECK(trace["passes"].size() == recorded.trace.passes.size());
  CHECK(trace["tiles"].size() == recorded.trace.tiles.size());
  REQUIRE(trace["events"].size() == recorded.trace.events.size());
  for (size_t i = 0; i < recorded.trace.events.size(); ++i) {
    const json& event = trace["events"][i];
    CHECK(event[0] == Approx(recorded.trace.events[i].seconds).margin(1e-6));
    CHECK(trace["kinds"][event[1].get<size_t>()] == key_of(recorded.trace.events[i].kind));
    CHECK(event[5] == recorded.trace.events[i].bytes);
  }
  int64_t calls = 0;
  for (const json& step : trace["steps"]) calls += step["calls"].get<int64_t>();
  CHECK(calls == recorded.steps);
}

}  // namespace
}  // namespace headroom
