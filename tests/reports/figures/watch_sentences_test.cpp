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
