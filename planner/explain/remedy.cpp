#include "planner/explain/remedy.h"

#include <algorithm>
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

}  // namespace headroom::planner
