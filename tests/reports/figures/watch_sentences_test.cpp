#include "reports/figures/watch_sentences.h"

#include <catch2/catch.hpp>

#include "tests/decoder/plan/small_plan.h"
#include "tests/reports/figures/sample_documents.h"
#include "tests/reports/figures/sample_gpu_trace.h"

namespace headroom::reports {
namespace {

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
  CHECK(
      watch_sentences(trace, timeline_of(trace)) ==
      Sentences{"The GPU was watched by allocator (LibTorch 2.11.0), CUPTI activities.",
                "CUPTI memory: not captured: held by another profiler.",
                "5 records were lost: what they reported is missing here.",
                "The driver was asked 4 times; after 500.0 ms its count was furthest from what all kinds add "
                "up to: 3.0 MiB more, 411.0 MiB beside 408.0 MiB."});
  CHECK(activity_sentences(trace) ==
        Sentences{
            "Listed one by one are the first 12 activities of the GPU; the tables by names and streams "
            "leave out 3 later ones, those by passes and steps do not.",
            "1 activity belongs to no step that is known, so the time of passes and steps is without it."});
  trace.sources = {{"CUPTI memory", false, ""}};
  trace.records_lost = 1;
  trace.driver = {{0.5, 100 << 20}};
  CHECK(
      watch_sentences(trace, timeline_of(trace)) ==
      Sentences{"Nothing that was to watch the GPU captured anything.", "CUPTI memory: not captured.",
                "1 record was lost: what it reported is missing here.",
                "The driver was asked 1 time; after 500.0 ms its count was furthest from what all kinds add "
                "up to: 308.0 MiB less, 100.0 MiB beside 408.0 MiB."});
  trace.sources.clear();
  trace.records_lost = 0;
  trace.driver = {{0, 400 << 20}, {0.5, 408 << 20}};
  CHECK(watch_sentences(trace, timeline_of(trace)) ==
        Sentences{"The driver was asked 2 times and always counted what all kinds add up to."});
}

TEST_CASE("sentences say nothing of a trace of the CPU") {
  Trace trace;
  trace.events = {{0, 100, -1, -1, TensorId{-1}, MemoryKind::weights}};
  CHECK(watch_sentences(trace, timeline_of(trace)).empty());
  CHECK(activity_sentences(trace).empty());
}

}  // namespace
}  // namespace headroom::reports
