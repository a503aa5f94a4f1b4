#include "decoder/validator/ranked_validator.h"

#include <cmath>

#include "decoder/base/errors.h"
#include "decoder/validator/ranked_view.h"

namespace headroom {
namespace validation {
namespace {

/// Far above real numbers of ranks, and small enough to check each rank.
constexpr size_t kMostRanks = 1024;

void check_amounts(RankedView& view) {
  const auto check = [&](double value, const char* place) {
    if (std::isfinite(value) && value >= 0) return;
    view.findings.add(Violation::malformed, place, "expected a finite number of at least 0");
  };
  check(view.plan.link.bytes_per_second, "link.bytes_per_second");
  check(view.plan.link.seconds, "link.seconds");
  check(view.plan.predicted_seconds, "predicted.seconds");
}

/// Checks that every latent row has exactly one owner, in rank order. A rank may own no rows.
void check_shares(RankedView& view) {
  const auto count = static_cast<int64_t>(view.plan.plans.size());
  int64_t end = 0;
  for (size_t i = 0; i < view.plan.plans.size(); ++i) {
    const RankShare& share = view.plan.plans[i].share;
    const auto refuse = [&](Violation::Kind kind, const char* key, const std::string& what) {
      view.findings.add(kind, RankedView::place(i) + key, what);
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
void check_plans(RankedView& view) {
  constexpr int64_t kWorkBesides = 2'000'000;  // additional work per rank, for its passes, steps and blocks
  const auto count = static_cast<int64_t>(view.ranks.size());
  int64_t work = view.ranks[0].work_left + kWorkBesides * count;
  for (size_t i = 0; i < view.plan.plans.size() && !view.findings.full(); ++i) {
    const Plan& plan = view.plan.plans[i];
    if (plan.request != view.plan.request) {
      view.findings.add(Violation::malformed, RankedView::place(i, "request"),
                        "expected that of the whole decode");
      continue;
    }
    View& own = view.ranks[i];
    own.work_left = work;
    check_plan(own);
    work = own.work_left;
    for (const Violation& inner : own.findings.take())
      view.findings.add(inner.kind, RankedView::place(i, inner.place), inner.what);
  }
  for (View& own : view.ranks) own.work_left = work / count;
}

std::vector<Violation> check(const RankedPlan& plan, const Graph& graph, const Extent& latent) {
  if (plan.plans.empty() || plan.plans.size() > kMostRanks) {
    return {{Violation::malformed, "ranks", "expected from 1 to " + std::to_string(kMostRanks)}};
  }
  RankedView view(plan, graph, latent);
  // Each check relies on the success of the checks before it.
  for (const auto& next :
       {check_amounts, check_shares, check_plans, check_same_passes, check_transfers, check_traffic}) {
    if (view.findings.empty()) next(view);
  }
  return view.findings.take();
}

}  // namespace

RankedView::RankedView(const RankedPlan& checked_plan, const Graph& checked_graph,
                       const Extent& latent_extent)
    : plan(checked_plan), graph(checked_graph), latent(latent_extent) {
  ranks.reserve(plan.plans.size());
  for (const Plan& own : plan.plans) ranks.emplace_back(own, graph, latent);
}

std::string RankedView::place(size_t rank) {
  return "ranks[" + std::to_string(rank) + "]";
}

std::string RankedView::place(size_t rank, const std::string& of_plan) {
  return place(rank) + ".plan." + of_plan;
}

}  // namespace validation

std::vector<Violation> validate(const RankedPlan& plan, const Model& model) {
  Extent latent;
  try {
    const Request& request = plan.request;
    latent = latent_extent(model, request.width_pixels, request.height_pixels, request.frames);
  } catch (const InputError& error) {
    return {{Violation::malformed, "request", error.what()}};
  }
  return validation::check(plan, model.graph, latent);
}

void require_valid(const RankedPlan& plan, const Model& model, const std::string& origin) {
  require_none(validate(plan, model), plan.request.model, model, origin);
}

}  // namespace headroom
