#include <algorithm>
#include <catch2/catch.hpp>

#include "reports/figures/gpu_work.h"
#include "tests/decoder/plan/small_plan.h"
#include "tests/reports/figures/printed_figures.h"
#include "tests/reports/figures/sample_documents.h"
#include "tests/reports/figures/sample_gpu_trace.h"
#include "tests/support/random.h"

namespace headroom::reports {
namespace {

using test::Random;

double number(const Row& row, size_t column) {
  return std::get<double>(row.cells.at(column));
}
std::string text(const Row& row, size_t column) {
  return std::get<std::string>(row.cells.at(column));
}
void check_rows(const Table& table) {
  CAPTURE(table.title);
  CHECK(table.rows.size() <= 31);
  for (const Row& row : table.rows) CHECK(row.cells.size() == table.columns.size());
}

struct Sample {
  Graph graph = testing::small_graph();
  Plan plan = testing::small_plan(graph);
  RecordedTrace recorded = test::recorded_gpu_trace(plan, graph);
};

TEST_CASE("a GPU's work: its time beside the host's, by passes and by steps") {
  const Sample sample;
  const Table passes = gpu_passes_table(sample.recorded);
  check_rows(passes);
  REQUIRE(passes.rows.size() == sample.plan.passes.size());
  double gpu = 0, shares = 0;
  for (size_t i = 0; i < passes.rows.size(); ++i) {
    CHECK(number(passes.rows[i], 0) == double(i));
    CHECK(text(passes.rows[i], 1) == sample.plan.passes[i].name);
    CHECK(number(passes.rows[i], 2) == test::kGpuPassSeconds);
    gpu += number(passes.rows[i], 3);
    shares += number(passes.rows[i], 4);
  }
  CHECK(shares == Approx(1));
  const Table steps = gpu_steps_table(sample.recorded);
  check_rows(steps);
  REQUIRE(steps.rows.size() == sample.recorded.trace.step_sums.size());
  CHECK(steps.rows[0].stands_out);
  double sum = 0;
  for (size_t i = 0; i < steps.rows.size(); ++i) {
    if (i > 0) CHECK(number(steps.rows[i], 5) <= number(steps.rows[i - 1], 5));
    CHECK(number(steps.rows[i], 3) == 2);
    CHECK(number(steps.rows[i], 4) == 0.03125);
    sum += number(steps.rows[i], 5);
  }
  CHECK(sum == Approx(gpu));
  test::check_expected("figures/gpu_work.txt", test::printed(gpu_tables(sample.recorded)));
}

TEST_CASE("a GPU's work: a range of time cuts the passes, steps and activities at its ends") {
  Sample sample;
  Trace& trace = sample.recorded.trace;
  trace.activities_left_out = 0;
  // Two calls of the first step of the first pass, one within the range and one half in it.
  trace.steps = {{0.0, 0.0625, 0, 0, 0, 0}, {0.0625, 0.1875, 0, 0, 0, 0}, {0.1875, 0.25, 0, 0, 0, 1}};
  const RecordedTrace part = within(sample.recorded, 0, 0.125);
  const Table passes = gpu_passes_table(part);
  REQUIRE(passes.rows.size() == 1);
  CHECK(number(passes.rows[0], 2) == 0.125);
  CHECK(number(passes.rows[0], 3) == 0.125 + 0.0625 + 0.03125);
  const Table steps = gpu_steps_table(part);
  REQUIRE(steps.rows.size() == 1);
  CHECK(number(steps.rows[0], 3) == 2);
  CHECK(number(steps.rows[0], 4) == 0.125);
  CHECK(number(steps.rows[0], 5) == number(passes.rows[0], 3));
  // Half of a copy moves half of its bytes.
  const Table activities = activities_table(part);
  REQUIRE(activities.rows.size() == 3);
  CHECK(text(activities.rows[1], 0) == "host to device");
  CHECK(number(activities.rows[1], 5) == double(32 << 20));
}

TEST_CASE("a GPU's work: passes count whole if the list of activities ends before a range") {
  Sample sample;
  Trace& trace = sample.recorded.trace;
  const Table all = gpu_passes_table(sample.recorded);
  trace.activities.resize(2);
  trace.activities_left_out = 10;
  trace.steps_left_out = 1;
  const auto check_whole = [&](double begin, double end, size_t passes) {
    const Table whole = gpu_passes_table(within(sample.recorded, begin, end));
    REQUIRE(whole.rows.size() == passes);
    for (size_t i = 0; i < passes; ++i) {
      CHECK(number(whole.rows[i], 2) == number(all.rows[i], 2));
      CHECK(number(whole.rows[i], 3) == number(all.rows[i], 3));
    }
  };
  check_whole(0.125, 0.3125, 2);
  check_whole(0.03125, 0.15625, 1);  // inside the last listed activity: a later one may begin in the range
}

TEST_CASE("a GPU's work: idle time at the end of a range counts if the list goes on behind it") {
  const Sample sample;
  REQUIRE(sample.recorded.trace.activities_left_out > 0);
  const Table streams = streams_table(within(sample.recorded, 0, test::kGpuPassSeconds));
  CHECK(number(streams.rows[0], 3) == Approx(0.15625 / test::kGpuPassSeconds));
}

TEST_CASE("a GPU's work: kernels that run after their pass count in its row") {
  Sample sample;
  sample.recorded.trace.passes[0].end_seconds = 0.125;
  const RecordedTrace part = within(sample.recorded, 0.125, test::kGpuPassSeconds);
  const Table passes = gpu_passes_table(part), steps = gpu_steps_table(part);
  REQUIRE(passes.rows.size() == 1);
  CHECK(number(passes.rows[0], 2) == 0);
  CHECK(number(passes.rows[0], 3) == 0.0625 + 0.03125 + 0.03125);
  REQUIRE(steps.rows.size() == 1);
  CHECK(number(steps.rows[0], 4) == 0);
}

TEST_CASE("a GPU's work: micro-batches of a pass are put together") {
  Sample sample;
  sample.recorded.trace.passes.push_back({.begin_seconds = 0.75, .end_seconds = 1, .item = 1, .pass = 0});
  CHECK(number(gpu_passes_table(sample.recorded).rows[0], 2) == 2 * test::kGpuPassSeconds);
}

TEST_CASE("a GPU's work: the share of a stream is that of the time that activities are listed for") {
  Sample whole;
  whole.recorded.trace.activities_left_out = 0;
  CHECK(number(streams_table(whole.recorded).rows[3], 3) == Approx(0.21875 / test::kGpuPassSeconds));
}

TEST_CASE("a GPU's work: of very many names and steps the rest is one row, and sums are those of all") {
  for (const size_t names : {30, 31, 32, 500}) {
    CAPTURE(names);
    Random random(names);
    RecordedTrace recorded;
    Trace& trace = recorded.trace;
    recorded.pass_names = {"all"};
    recorded.layers = {"conv_in"};
    double at = 0, seconds = 0, device_seconds = 0;
    int64_t bytes = 0;
    for (size_t i = 0; i < names; ++i) trace.activity_names.push_back("kernel " + std::to_string(i));
    for (size_t i = 0; i < names * 3; ++i) {
      const double lasting = random.uniform(1e-6, 1e-3);
      const int64_t moved = random.integer(1, 1000);
      trace.activities.push_back(
          {at, at + lasting, -1, moved, 0, 0, 7, static_cast<int32_t>(i % names), ActivityKind::copy});
      at += lasting;
      seconds += lasting;
      bytes += moved;
    }
    for (size_t i = 0; i < names; ++i) {
      trace.step_sums.push_back({0, static_cast<int32_t>(i), 1, 0.5, random.uniform(0, 1)});
      device_seconds += trace.step_sums.back().device_seconds;
      recorded.steps.push_back({"conv", 0});
    }
    trace.seconds = at;
    const Table ran = activities_table(recorded), steps = gpu_steps_table(recorded);
    for (const Table* table : {&ran, &steps}) {
      check_rows(*table);
      CHECK(table->rows.size() == std::min<size_t>(names, 31));
    }
    const auto sum = [](const Table& table, size_t column) {
      double all = 0;
      for (const Row& row : table.rows) all += number(row, column);
      return all;
    };
    CHECK(sum(ran, 2) == double(3 * names));
    CHECK(sum(ran, 3) == Approx(seconds));
    CHECK(sum(ran, 4) == Approx(1));
    CHECK(sum(ran, 5) == double(bytes));
    CHECK(sum(steps, 4) == Approx(0.5 * double(names)));
    CHECK(sum(steps, 5) == Approx(device_seconds));
    CHECK(sum(steps, 6) == Approx(1));
    if (names <= 31) continue;
    CHECK(text(ran.rows.back(), 0) == std::to_string(names - 30) + " others");
    CHECK(text(steps.rows.back(), 1) == std::to_string(names - 30) + " others");
  }
}

TEST_CASE("a GPU's work: streams' time is that of their activities laid over one another") {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    RecordedTrace recorded;
    recorded.trace.activity_names = {"k"};
    recorded.trace.seconds = 1;
    std::vector<bool> busy(1000);  // by thousandths
    int64_t begin = 0;
    while ((begin += random.integer(0, 40)) < 950) {
      const int64_t end = begin + random.integer(0, 50);
      recorded.trace.activities.push_back({double(begin) / 1000, double(end) / 1000, -1, 0, -1, -1,
                                           static_cast<int32_t>(random.integer(1, 3)), 0,
                                           ActivityKind::kernel});
      for (int64_t i = begin; i < end; ++i) busy[static_cast<size_t>(i)] = true;
    }
    const Table streams = streams_table(recorded);
    if (streams.rows.size() < 2) continue;
    CHECK(number(streams.rows.back(), 2) ==
          Approx(double(std::count(busy.begin(), busy.end(), true)) / 1000).margin(1e-9));
  }
}

TEST_CASE("a GPU's work: nothing to say of a CPU, and of a GPU that nobody watched only its memory") {
  Sample sample;
  CHECK(gpu_tables(sample.recorded).size() == 4);
  Trace& trace = sample.recorded.trace;
  trace.activities.clear();
  CHECK(gpu_tables(sample.recorded).size() == 2);
  for (TraceStepSum& sum : trace.step_sums) sum.device_seconds = 0;
  CHECK(gpu_tables(sample.recorded).empty());
  CHECK(gpu_tables(RecordedTrace{}).empty());
}

using Sentences = std::vector<std::string>;

Timeline timeline_of(const Trace& trace) {
  RecordedTrace recorded;
  recorded.trace = trace;
  recorded.pass_names.resize(3);
  recorded.layers.resize(10);
  return measured_timeline(test::document_of(recorded, "trace.json"));
}

TEST_CASE("sentences say who watched a GPU, who did not, what was lost and what the driver counted") {
  const Graph graph = testing::small_graph();
  Trace trace = test::gpu_trace(testing::small_plan(graph));
  CHECK(watch_sentences(trace, timeline_of(trace)) ==
        Sentences{
            "GPU records: allocator (LibTorch 2.11.0), CUPTI activities.",
            "CUPTI memory: not captured: held by another profiler.",
            "5 records were lost. The trace is incomplete.",
            "The driver reported its memory 4 times. After 500.0 ms its figure differed most from the sum "
            "of all kinds of memory: it was 3.0 MiB more, 411.0 MiB instead of 408.0 MiB."});
  CHECK(
      activity_sentences(trace) ==
      Sentences{"The list has the first 12 activities of the GPU. The tables by names and streams leave out "
                "3 later ones. The tables by passes and steps have all of them.",
                "1 activity belongs to no known step. The times of passes and steps leave it out."});
  trace.sources = {{"CUPTI memory", false, ""}};
  trace.records_lost = 1;
  trace.driver = {{0.5, 100 << 20}};
  CHECK(
      watch_sentences(trace, timeline_of(trace)) ==
      Sentences{"No source of GPU records captured anything.", "CUPTI memory: not captured.",
                "1 record was lost. The trace is incomplete.",
                "The driver reported its memory 1 time. After 500.0 ms its figure differed most from the sum "
                "of all kinds of memory: it was 308.0 MiB less, 100.0 MiB instead of 408.0 MiB."});
  trace.sources.clear();
  trace.records_lost = 0;
  trace.driver = {{0, 400 << 20}, {0.5, 408 << 20}};
  CHECK(watch_sentences(trace, timeline_of(trace)) ==
        Sentences{"The driver reported its memory 2 times, always the sum of all kinds of memory."});
}

TEST_CASE("sentences say nothing of a trace of the CPU") {
  Trace trace;
  trace.events = {{0, 100, -1, -1, TensorId{-1}, MemoryKind::weights}};
  CHECK(watch_sentences(trace, timeline_of(trace)).empty());
  CHECK(activity_sentences(trace).empty());
}

}  // namespace
}  // namespace headroom::reports
