#include "decoder/validator/group.h"

#include <cmath>

namespace headroom::validation {
namespace {

/// Far above real numbers of ranks, and small enough to check each rank.
constexpr size_t kMostMembers = 1024;

void check_amounts(GroupView& view) {
  const auto check = [&](double value, const char* place) {
    if (std::isfinite(value) && value >= 0) return;
    view.findings.add(Violation::malformed, place, "expected a finite number of at least 0");
  };
  check(view.plan.link.bytes_per_second, "link.bytes_per_second");
  check(view.plan.link.seconds, "link.seconds");
  check(view.plan.predicted_seconds, "predicted.seconds");
}

/// Checks that every latent row has exactly one owner, in rank order. A rank may own no rows.
void check_shares(GroupView& view) {
  const auto count = static_cast<int64_t>(view.plan.plans.size());
  int64_t end = 0;
  for (size_t i = 0; i < view.plan.plans.size(); ++i) {
    const RankShare& share = view.plan.plans[i].share;
    const auto refuse = [&](Violation::Kind kind, const char* key, const std::string& what) {
      view.findings.add(kind, GroupView::place(i) + key, what);
    };
    if (share.rank != static_cast<int64_t>(i) || share.ranks != count) {
      refuse(Violation::malformed, ".plan",
             "is for rank " + std::to_string(share.rank) + " of " + std::to_string(share.ranks));
      continue;
    }
    const Interval& rows = share.latent_rows;
    if (count == 1 || rows.begin == rows.end) continue;
    if (rows.begin < 0 || rows.begin > rows.end || rows.end > view.latent.y) {
      refuse(Violation::malformed, ".latent_rows", "expected rows of " + to_text({0, view.latent.y}));
      continue;
    }
    if (rows.begin > end) {
      refuse(Violation::skipped_region, ".latent_rows", "no rank has " + to_text({end, rows.begin}));
    } else if (rows.begin < end) {
      refuse(Violation::computed_twice, ".latent_rows",
             "a rank before this one has rows up to " + std::to_string(end) + " already");
    }
    end = rows.end;
  }
  if (count > 1 && view.findings.empty() && end < view.latent.y)
    view.findings.add(Violation::skipped_region, "ranks", "no rank has " + to_text({end, view.latent.y}));
}

/// Validates each plan by itself. All plans share one work budget, about that of a single decode.
void check_plans(GroupView& view) {
  constexpr int64_t kWorkBesides = 2'000'000;  // additional work per rank, for its passes, steps and blocks
  const auto count = static_cast<int64_t>(view.ranks.size());
  int64_t work = view.ranks[0].work_left + kWorkBesides * count;
  for (size_t i = 0; i < view.plan.plans.size() && !view.findings.full(); ++i) {
    const Plan& plan = view.plan.plans[i];
    if (plan.request != view.plan.request) {
      view.findings.add(Violation::malformed, GroupView::place(i, "request"),
                        "expected that of the whole decode");
      continue;
    }
    View& own = view.ranks[i];
    own.work_left = work;
    check_plan(own);
    work = own.work_left;
    for (const Violation& inner : own.findings.take())
      view.findings.add(inner.kind, GroupView::place(i, inner.place), inner.what);
  }
  for (View& own : view.ranks) own.work_left = work / count;
}

/// Compares one rank's plan with that of rank 0. Tiles, blocks, stored rows and bytes may differ.
class SameCheck {
 public:
  SameCheck(GroupView& view, size_t rank)
      : view_(view), rank_(rank), plan_(view.plan.plans[rank]), first_(view.plan.plans[0]) {}

  void run() {
    if (plan_.micro_batch != first_.micro_batch)
      differs("micro_batch", "found " + std::to_string(plan_.micro_batch) + ", rank 0 has " +
                                 std::to_string(first_.micro_batch));
    if (same_count("passes", plan_.passes.size(), first_.passes.size())) {
      for (size_t p = 0; p < plan_.passes.size(); ++p) check_pass(p);
    }
    if (same_count("kept", plan_.kept.size(), first_.kept.size())) {
      for (size_t i = 0; i < plan_.kept.size(); ++i) check_kept(i);
    }
  }

 private:
  void differs(const std::string& place, const std::string& what) {
    view_.findings.add(Violation::ranks_differ, GroupView::place(rank_, place), what);
  }

  bool same_count(const std::string& place, size_t found, size_t expected) {
    if (found == expected) return true;
    differs(place, "found " + std::to_string(found) + ", rank 0 has " + std::to_string(expected));
    return false;
  }

  void check_pass(size_t p) {
    const Pass &pass = plan_.passes[p], &other = first_.passes[p];
    const std::string place = "passes[" + std::to_string(p) + "]";
    if (pass.name != other.name) differs(place + ".name", "rank 0 has '" + other.name + "'");
    if (pass.scale != other.scale) differs(place + ".scale", "is not that of rank 0");
    if (!same_count(place + ".steps", pass.steps.size(), other.steps.size())) return;
    for (size_t s = 0; s < pass.steps.size(); ++s) {
      if (pass.steps[s] == other.steps[s]) continue;
      return differs(view_.ranks[rank_].place(StepRef{p, s}), "is not the step of rank 0");
    }
  }

  void check_kept(size_t i) {
    const KeptTensor &entry = plan_.kept[i], &other = first_.kept[i];
    if (entry.tensor == other.tensor && entry.first_pass == other.first_pass &&
        entry.last_pass == other.last_pass && entry.in_place_of == other.in_place_of)
      return;
    differs(view_.ranks[rank_].place(entry), "is not the tensor that rank 0 keeps, through the same passes");
  }

  GroupView& view_;
  const size_t rank_;
  const Plan &plan_, &first_;
};

void check_same_passes(GroupView& view) {
  for (size_t rank = 1; rank < view.ranks.size() && !view.findings.full(); ++rank)
    SameCheck(view, rank).run();
}

constexpr int64_t kGatheredBytes = 8, kOutputBytes = 4;

/// Bytes of statistics that a rank sends. It sends each of its values to every other rank.
int64_t statistics_bytes(const View& own, int64_t others) {
  int64_t values = 0;
  for (const Pass& pass : own.plan.passes) {
    for (const Step& step : pass.steps) {
      if (counts_positions(step.kind)) values = add(values, gathered_values(own, own.graph.op(step.op)));
    }
  }
  return multiply(multiply(multiply(values, own.plan.request.batch), kGatheredBytes), others);
}

/// Bytes of the picture's rows that a rank sends to rank 0, in fp32.
int64_t output_bytes(const View& own) {
  if (own.plan.share.rank == 0) return 0;
  const TensorId output = own.graph.output();
  const Tensor& tensor = own.graph.tensor(output);
  const int64_t positions =
      multiply(multiply(own.picture(output, kTime).end, own.own_rows(tensor.scale.y).length()),
               own.picture(output, kColumns).end);
  return multiply(multiply(multiply(positions, tensor.channels), own.plan.request.batch), kOutputBytes);
}

void check_sent(GroupView& view) {
  const Plans& plan = view.plan;
  if (plan.sent.size() != view.ranks.size()) {
    return view.findings.add(Violation::malformed, "ranks",
                             "bytes sent are given for " + std::to_string(plan.sent.size()) + " ranks");
  }
  std::vector<SentBytes> expected(view.ranks.size());
  for (const RowTransfer& transfer : plan.transfers) {
    const auto from = static_cast<size_t>(transfer.from);
    const int64_t bytes = multiply(
        multiply(transfer.rows.length(), view.ranks[from].row_bytes(transfer.tensor)), plan.request.batch);
    expected[from].rows_bytes = add(expected[from].rows_bytes, bytes);
  }
  for (size_t rank = 0; rank < view.ranks.size(); ++rank) {
    const auto check = [&](const char* key, int64_t found, int64_t bytes) {
      if (found == bytes) return;
      view.findings.add(Violation::traffic_misstated, GroupView::place(rank) + ".sent." + key,
                        "expected " + std::to_string(bytes) + ", found " + std::to_string(found));
    };
    const SentBytes& found = plan.sent[rank];
    check("rows_bytes", found.rows_bytes, expected[rank].rows_bytes);
    check("statistics_bytes", found.statistics_bytes,
          statistics_bytes(view.ranks[rank], static_cast<int64_t>(view.ranks.size()) - 1));
    check("output_bytes", found.output_bytes, output_bytes(view.ranks[rank]));
  }
}

}  // namespace

GroupView::GroupView(const Plans& checked_plan, const Graph& checked_graph, const Extent& latent_extent)
    : plan(checked_plan), graph(checked_graph), latent(latent_extent) {
  ranks.reserve(plan.plans.size());
  for (const Plan& own : plan.plans) ranks.emplace_back(own, graph, latent);
}

std::string GroupView::place(size_t rank) {
  return "ranks[" + std::to_string(rank) + "]";
}

std::string GroupView::place(size_t rank, const std::string& of_plan) {
  return place(rank) + ".plan." + of_plan;
}

std::vector<Violation> check_group(const Plans& plans, const Graph& graph, const Extent& latent) {
  if (plans.plans.empty() || plans.plans.size() > kMostMembers)
    return {{Violation::malformed, "ranks", "expected from 1 to " + std::to_string(kMostMembers)}};
  GroupView view(plans, graph, latent);
  // Each check relies on the success of the checks before it.
  for (const auto& next :
       {check_amounts, check_shares, check_plans, check_same_passes, check_transfers, check_sent}) {
    if (view.findings.empty()) next(view);
  }
  return view.findings.take();
}

}  // namespace headroom::validation
