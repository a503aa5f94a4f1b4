#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "decoder/base/json_fields.h"
#include "decoder/plan/plan_file.h"
#include "decoder/plan/stats_file.h"
#include "decoder/trace/trace_file.h"
#include "planner/search/make_plan.h"
#include "reports/figures/document.h"
#include "tests/decoder/files/scratch.h"
#include "tests/reports/figures/sample_documents.h"

namespace headroom::test {}
namespace headroom::reports::test {
using namespace headroom::test;

/// One decode of several ranks: its plan, and made-up statistics and traces of a run of it.
struct RankFiles {
  Scratch scratch;
  Model model;
  Plans plan;
  RunStats stats;
  std::vector<Trace> traces;  ///< by rank

  /// `latent_rows` over so many ranks; `spare_bytes` go onto each limit.
  explicit RankFiles(int32_t ranks = 3, int64_t latent_rows = 10, int64_t spare_bytes = 4096)
      : model(model_of(tiny_config())) {
    std::filesystem::create_directories(scratch / "model");
    const std::string folder =
        scratch.write("model/config.json", tiny_config().dump()).parent_path().string();
    const Request request{folder, 24, 2 * latent_rows, 1, 1, Dtype::fp32};
    const planner::CostModel costs(model.graph);
    const planner::Problem problem{model, request, {}, costs};
    const planner::Ranks shared{ranks, {1e9, 1e-4}};
    std::vector<int64_t> limits;
    for (const Plan& own : planner::smallest_plans(problem, shared).plans)
      limits.push_back(own.limit_bytes + spare_bytes);
    plan = planner::make_plans(problem, shared, limits).value();
    for (int32_t rank = 0; rank < ranks; ++rank) traces.push_back(trace_of(rank));
    stats = stats_of();
    write();
  }

  /// In the second half of each pass.
  double waited_seconds(size_t rank) const { return 0.5 * double(rank) / double(plan.plans.size()); }
  std::string file(const std::string& name) const { return (scratch / name).string(); }
  DocumentPtr read(const std::string& name) const { return read_document(scratch / name); }

  void write() const {
    write_plans(scratch / "plan.json", plan, model.graph);
    write_stats(scratch / "stats.json", stats);
    std::vector<std::string> texts;
    for (size_t rank = 0; rank < traces.size(); ++rank)
      texts.push_back(trace_text(traces[rank], plan.plans[rank], model.graph));
    write_traces(scratch / "trace.json", texts);
  }

 private:
  /// Every pass takes a second, of which the rank waits for others in the second half; rank 0 never does.
  Trace trace_of(int32_t rank) const {
    const Plan& own = plan.plans[static_cast<size_t>(rank)];
    Trace trace;
    trace.model = plan.request.model;
    trace.request = plan.request;
    trace.device = "two cores";
    trace.limit_bytes = own.limit_bytes;
    trace.events.push_back({.bytes = 1000 + rank, .kind = MemoryKind::weights});
    const double waited = waited_seconds(static_cast<size_t>(rank));
    TraceRank of{rank, static_cast<int32_t>(plan.plans.size()), own.share.latent_rows,
                 own.predicted_peak_bytes, 0.25 * rank};
    for (size_t i = 0; i < own.passes.size(); ++i) {
      const auto pass = static_cast<int32_t>(i);
      const double begin = double(i);
      trace.passes.push_back({.begin_seconds = begin, .end_seconds = begin + 1, .pass = pass});
      of.calls.push_back({begin, begin + 0.5, 10, pass, ExchangeCall::post});
      if (rank == 0) continue;
      of.calls.push_back({begin + 0.5, begin + 0.5 + waited, 0, pass, ExchangeCall::gather});
      of.waited_seconds += waited;
    }
    of.sent_bytes = plan.sent[static_cast<size_t>(rank)].total();
    trace.seconds = double(own.passes.size());
    trace.rank = of;
    return trace;
  }

  RunStats stats_of() const {
    RunStats made = run_as_predicted(plan.plans[0]);
    for (size_t rank = 0; rank < plan.plans.size(); ++rank) {
      const Plan& own = plan.plans[rank];
      const int64_t sent = plan.sent[rank].total(), peak = own.predicted_peak_bytes;
      made.ranks.push_back({own.share.latent_rows, own.limit_bytes, peak,
                            peak - 100 * static_cast<int64_t>(plan.plans.size() - rank), peak,
                            2.0 + double(rank), sent, sent});
    }
    return made;
  }
};

}  // namespace headroom::reports::test
