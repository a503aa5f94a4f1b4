#include "planner/explain/remedy.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>

#include "planner/explain/explain.h"
#include "planner/search/finish_plan.h"

namespace headroom::planner {

namespace {

/// Returns nothing if time ran out.
std::optional<Remedy> under_limit(const RemedyCandidate& candidate, const Spaces& without,
                                  const std::function<bool()>& go_on) {
  if (!go_on()) return std::nullopt;
  Remedy remedy = candidate.remedy;
  const Problem& problem = candidate.problem;
  const Spaces spaces = spaces_of(problem, without);
  const ConfigurationSearch found = fastest_over(spaces, problem.request, usable_limit_bytes(problem));
  const std::optional<Plan> plan = found.best ? finish_plan(problem, spaces, found) : std::nullopt;
  if (!plan) {
    if (!go_on()) return std::nullopt;
    remedy.smallest_limit_bytes = small_limit_bytes(problem, spaces);
    return remedy;
  }
  remedy.seconds = plan->predicted_seconds;
  if (candidate.added) remedy.needs_bytes = most_bytes_in(*candidate.added, *plan, problem.model.graph);
  return remedy;
}

}  // namespace

RemediesFound remedies_under_limit(const Problem& problem, const Spaces& spaces, int64_t smallest_limit_bytes,
                                   const std::function<bool()>& go_on) {
  RemediesFound found;
  std::vector<Remedy>& list = found.remedies;
  std::optional<Remedy> in_bf16;
  for (const RemedyCandidate& candidate : remedy_candidates(problem)) {
    const Dtype dtype = candidate.problem.request.dtype;
    if (dtype == Dtype::fp16 && problem.request.dtype != dtype && in_bf16) {
      // With assumed costs, fp16 needs the same bytes and time as bf16.
      list.push_back(*in_bf16);
      list.back().option = candidate.remedy.option;
      list.back().meaning = candidate.remedy.meaning;
      continue;
    }
    std::optional<Remedy> remedy = under_limit(candidate, spaces, go_on);
    if (!remedy) {
      found.not_looked_at.push_back(candidate.remedy.option);
      continue;
    }
    if (dtype == Dtype::bf16 && problem.request.dtype != dtype) in_bf16 = remedy;
    list.push_back(*std::move(remedy));
  }
  std::erase_if(list, [&](const Remedy& remedy) {
    return !remedy.seconds && *remedy.smallest_limit_bytes >= smallest_limit_bytes;
  });
  std::stable_sort(list.begin(), list.end(), [](const Remedy& a, const Remedy& b) {
    constexpr double kNever = std::numeric_limits<double>::infinity();
    return a.seconds.value_or(kNever) < b.seconds.value_or(kNever);
  });
  return found;
}

std::vector<RemedyCandidate> remedy_candidates(const Problem& problem) {
  const Request& request = problem.request;
  const PlanOptions& options = problem.options;
  std::vector<RemedyCandidate> list;
  const auto add = [&](const std::string& option, const std::string& meaning) -> RemedyCandidate& {
    return list.emplace_back(RemedyCandidate{{option, meaning}, problem});
  };
  if (options.weights == WeightResidency::resident) {
    add("--weights-residency auto", "the planner may load weights for each pass")
        .problem.options.weights.reset();
  }
  // A profile holds for one dtype only.
  if (request.dtype == Dtype::fp32 && problem.costs.assumed()) {
    for (const Dtype dtype : {Dtype::bf16, Dtype::fp16}) {
      if (decoding_dtype(problem.model, dtype) != dtype) continue;
      Request& changed = add(std::string("--dtype ") + name_of(dtype),
                             std::string("kept tensors are stored in 16 bits, as ") + name_of(dtype))
                             .problem.request;
      changed.dtype = dtype;
      changed.tf32 = {};
      if (changed.picture_dtype) changed.picture_dtype = dtype;
    }
  }
  const MemoryTier second_tier = device_record(request.device).second_tier;
  if (second_tier == MemoryTier::scratch && options.scratch_limit_bytes < kAmpleBytes) {
    const bool some = options.scratch_limit_bytes > 0;
    RemedyCandidate& scratch =
        add(some ? "--scratch-limit" : "--scratch DIR",
            std::string("kept tensors may live in a ") + (some ? "larger " : "") + "file on a disk");
    scratch.problem.options.scratch_limit_bytes = kAmpleBytes;
    if (!some) scratch.problem.options.scratch_folder = "scratch";
    scratch.added = MemoryTier::scratch;
  }
  if (options.host_limit_bytes > 0 || second_tier == MemoryTier::host) {
    const bool some = options.host_limit_bytes > 0;
    RemedyCandidate& host =
        add("--host-limit",
            std::string("kept tensors may ") + (some ? "take more of" : "live in") + " the host's memory");
    host.problem.options.host_limit_bytes = kAmpleBytes;
    host.added = MemoryTier::host;
  }
  return list;
}

namespace {

/// Bisection steps between the smallest limit and the plan's peak, on a logarithmic scale. If the peak is ten
/// times the smallest limit, the answer is at most 16 % off.
constexpr int kLimitsTried = 4;

/// Searches for one remedy.
class LowerSearch {
 public:
  LowerSearch(const RemedyCandidate& candidate, const Plan& plan, const std::function<bool()>& go_on)
      : candidate_(candidate), plan_(plan), go_on_(go_on) {}

  enum class Looked { no, at_smallest_limit, whole };

  Looked run(Remedy& remedy) {
    if (!go_on_()) return Looked::no;
    const Spaces spaces = spaces_of(candidate_.problem);
    const Plan smallest = smallest_plan(candidate_.problem, spaces);
    const LowerPlan lowest = lower_plan(smallest);
    remedy.smallest_limit_bytes = smallest.limit_bytes;
    remedy.seconds = lowest.seconds;
    remedy.needs_bytes = lowest.needs_bytes;
    remedy.weights = lowest.weights;
    if (lowest.seconds <= allowed()) {
      remedy.about_as_fast = lowest;
      return Looked::whole;
    }
    return about_as_fast(spaces, smallest.limit_bytes, remedy.about_as_fast) ? Looked::whole
                                                                             : Looked::at_smallest_limit;
  }

 private:
  double allowed() const { return plan_.predicted_seconds * kAboutAsFast; }
  /// Seconds of the costs as the existing plan shows them. Its learnt ratio may be another than the costs'.
  double shown(double seconds) const { return seconds * plan_.learnt.ratio; }

  LowerPlan lower_plan(const Plan& plan) const {
    LowerPlan lower{
        plan.predicted_peak_bytes, shown(plan.predicted_seconds / plan.learnt.ratio), {}, plan.weights};
    const int64_t added =
        candidate_.added ? most_bytes_in(*candidate_.added, plan, candidate_.problem.model.graph) : 0;
    if (added > 0) lower.needs_bytes = added;
    return lower;
  }

  /// Bisects the limit, because plans only get slower as it shrinks. The search compares live bytes only,
  /// because on CUDA gaps are slow to find. They are computed once, for the final plan. Returns false without
  /// a plan if time runs out: a partial search would name a different plan than a full one.
  bool about_as_fast(const Spaces& spaces, int64_t too_small, std::optional<LowerPlan>& found) const {
    Problem problem = candidate_.problem;
    std::optional<ConfigurationSearch::Best> best;
    int64_t enough = plan_.predicted_peak_bytes;
    for (int i = 0; i < kLimitsTried && too_small + 1 < enough; ++i) {
      if (!go_on_()) return false;
      const auto limit = static_cast<int64_t>(std::sqrt(double(too_small)) * std::sqrt(double(enough)));
      ConfigurationSearch under = fastest_over(spaces, problem.request, limit);
      if (under.best && shown(under.best->seconds) <= allowed()) {
        enough = under.best->solution.peak_bytes;
        best = std::move(under.best);
      } else {
        too_small = limit;
      }
    }
    if (!best) return true;
    problem.options.limit_bytes = taken_bytes(problem, best->solution.peak_bytes);
    const LowerPlan lower = lower_plan(plan_of(problem, *best));
    if (lower.peak_bytes < plan_.predicted_peak_bytes) found = lower;
    return true;
  }

  const RemedyCandidate& candidate_;
  const Plan& plan_;
  const std::function<bool()>& go_on_;
};

/// Drops remedies that do no better than a smaller limit alone, for neither of their two plans.
void drop_idle(std::vector<Remedy>& remedies) {
  if (remedies.empty() || !remedies.front().option.empty()) return;
  const Remedy without = remedies.front();
  std::erase_if(remedies, [&](const Remedy& remedy) {
    if (remedy.option.empty() || remedy.smallest_limit_bytes < without.smallest_limit_bytes) return false;
    return !remedy.about_as_fast ||
           (without.about_as_fast && remedy.about_as_fast->peak_bytes >= without.about_as_fast->peak_bytes);
  });
}

}  // namespace

std::string not_looked_at(const LowerPeak& lower) {
  std::string text;
  for (const std::string& option : lower.not_looked_at) text += (text.empty() ? "" : ", ") + option;
  for (const std::string& option : lower.not_looked_at_as_fast)
    text += (text.empty() ? "" : ", ") + option + " in at most 5 % more time";
  return text;
}

std::vector<LowerWay> lower_ways(const LowerPeak& lower) {
  std::vector<LowerWay> ways;
  for (const Remedy& remedy : lower.remedies) {
    const int64_t smallest = remedy.smallest_limit_bytes.value();
    const std::optional<LowerPlan>& fast = remedy.about_as_fast;
    if (fast) ways.push_back({remedy, *fast, true});
    if (!fast || fast->peak_bytes > smallest)
      ways.push_back({remedy, {smallest, remedy.seconds.value(), remedy.needs_bytes, remedy.weights}, false});
  }
  return ways;
}

PlanOptions options_of(const Plan& plan) {
  PlanOptions options;
  options.limit_bytes = plan.limit_bytes;
  options.host_limit_bytes = plan.host_limit_bytes;
  options.scratch_limit_bytes = plan.scratch_limit_bytes;
  options.scratch_folder = plan.scratch_folder;
  options.thrift = kDefaultThrift;
  return options;
}

LowerPeak what_would_lower(const Problem& problem, const Plan& plan, const std::function<bool()>& go_on) {
  LowerPeak lower;
  std::vector<RemedyCandidate> candidates{{{"", "only a smaller limit"}, problem}};
  for (RemedyCandidate& candidate : remedy_candidates(problem)) candidates.push_back(std::move(candidate));
  for (const RemedyCandidate& candidate : candidates) {
    // fp16 needs the same bytes as bf16, which comes earlier.
    if (candidate.problem.request.dtype == Dtype::fp16 && problem.request.dtype != Dtype::fp16) continue;
    Remedy remedy = candidate.remedy;
    const std::string option = remedy.option.empty() ? "--limit" : remedy.option;
    const LowerSearch::Looked looked = LowerSearch(candidate, plan, go_on).run(remedy);
    if (looked == LowerSearch::Looked::no) {
      lower.not_looked_at.push_back(option);
    } else if (*remedy.smallest_limit_bytes < plan.predicted_peak_bytes) {
      lower.remedies.push_back(std::move(remedy));
      if (looked != LowerSearch::Looked::whole) lower.not_looked_at_as_fast.push_back(option);
    }
  }
  drop_idle(lower.remedies);
  const auto own = std::find_if(lower.remedies.begin(), lower.remedies.end(),
                                [](const Remedy& remedy) { return !remedy.option.empty(); });
  std::stable_sort(own, lower.remedies.end(), [](const Remedy& a, const Remedy& b) {
    return a.smallest_limit_bytes < b.smallest_limit_bytes;
  });
  return lower;
}

double own_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

std::function<bool()> for_seconds(double seconds) {
  const double until = own_seconds() + seconds;
  return [until] { return own_seconds() < until; };
}

}  // namespace headroom::planner
