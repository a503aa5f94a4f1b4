#include "planner/explain/remedy.h"

#include <algorithm>
#include <limits>

#include "planner/explain/explain.h"
#include "planner/search/finish_plan.h"

namespace headroom::planner {
namespace {

constexpr int64_t kAmple = int64_t{1} << 50;

/// A remedy and the problem with it.
struct Candidate {
  Remedy remedy;
  Problem problem;
  std::optional<MemoryTier> added{};  ///< the memory tier that it adds
};

/// Every remedy that may help.
std::vector<Candidate> candidates_of(const Problem& problem) {
  const Request& request = problem.request;
  const PlanOptions& options = problem.options;
  std::vector<Candidate> list;
  const auto add = [&](const std::string& option, const std::string& meaning) -> Candidate& {
    return list.emplace_back(Candidate{{option, meaning}, problem});
  };
  if (options.weights == WeightResidency::resident) {
    add("--weights-residency auto", "weights are brought in pass by pass where that is better")
        .problem.options.weights.reset();
  }
  const bool on_cpu = request.device == DeviceKind::cpu;
  if (on_cpu && options.scratch_limit_bytes < kAmple) {
    const bool some = options.scratch_limit_bytes > 0;
    Candidate& scratch =
        add(some ? "--scratch-limit" : "--scratch DIR",
            std::string("kept tensors may live in a ") + (some ? "larger " : "") + "file on a disk");
    scratch.problem.options.scratch_limit_bytes = kAmple;
    if (!some) scratch.problem.options.scratch_folder = "scratch";
    scratch.added = MemoryTier::scratch;
  }
  if (options.host_limit_bytes > 0 || !on_cpu) {
    const bool some = options.host_limit_bytes > 0;
    Candidate& host = add("--host-limit", std::string("kept tensors may ") +
                                              (some ? "take more of" : "live in") + " the host's memory");
    host.problem.options.host_limit_bytes = kAmple;
    host.added = MemoryTier::host;
  }
  // A profile is of one dtype.
  if (request.dtype == Dtype::fp32 && problem.costs.assumed()) {
    for (const Dtype dtype : {Dtype::bf16, Dtype::fp16}) {
      if (decoding_dtype(problem.model, dtype) != dtype) continue;
      add(std::string("--dtype ") + name_of(dtype),
          std::string("kept tensors are stored in 16 bits, as ") + name_of(dtype))
          .problem.request.dtype = dtype;
    }
  }
  return list;
}

Remedy under_limit(const Candidate& candidate) {
  Remedy remedy = candidate.remedy;
  const Spaces spaces = spaces_of(candidate.problem);
  const ConfigurationSearch found =
      fastest_over(spaces, candidate.problem.request, candidate.problem.options.limit_bytes);
  if (!found.best) {
    remedy.smallest_limit_bytes = smallest_over(spaces).smallest.bytes;
    return remedy;
  }
  remedy.seconds = found.best->seconds;
  if (candidate.added) {
    remedy.needs_bytes = most_bytes_in(*candidate.added, plan_of(candidate.problem, *found.best),
                                       candidate.problem.model.graph);
  }
  return remedy;
}

Remedy at_smallest_limit(const Candidate& candidate) {
  Remedy remedy = candidate.remedy;
  const Spaces spaces = spaces_of(candidate.problem);
  const int64_t limit = smallest_over(spaces).smallest.bytes;
  remedy.smallest_limit_bytes = limit;
  remedy.seconds = fastest_over(spaces, candidate.problem.request, limit).best.value().seconds;
  return remedy;
}

}  // namespace

std::vector<Remedy> remedies_under_limit(const Problem& problem, int64_t smallest_limit_bytes) {
  std::vector<Remedy> list;
  for (const Candidate& candidate : candidates_of(problem)) list.push_back(under_limit(candidate));
  std::erase_if(list, [&](const Remedy& remedy) {
    return !remedy.seconds && *remedy.smallest_limit_bytes >= smallest_limit_bytes;
  });
  std::stable_sort(list.begin(), list.end(), [](const Remedy& a, const Remedy& b) {
    constexpr double kNever = std::numeric_limits<double>::infinity();
    return a.seconds.value_or(kNever) < b.seconds.value_or(kNever);
  });
  return list;
}

std::vector<Remedy> remedies_at_smallest_limits(const Problem& problem, const std::function<bool()>& go_on) {
  std::vector<Remedy> list;
  if (!go_on()) return list;
  list.push_back(at_smallest_limit({{"", "nothing but a smaller limit"}, problem}));
  const auto as_it_is = list.front().smallest_limit_bytes;
  for (const Candidate& candidate : candidates_of(problem)) {
    if (!go_on()) break;
    Remedy remedy = at_smallest_limit(candidate);
    if (remedy.smallest_limit_bytes < as_it_is) list.push_back(std::move(remedy));
  }
  std::stable_sort(list.begin() + 1, list.end(), [](const Remedy& a, const Remedy& b) {
    return a.smallest_limit_bytes < b.smallest_limit_bytes;
  });
  return list;
}

}  // namespace headroom::planner
