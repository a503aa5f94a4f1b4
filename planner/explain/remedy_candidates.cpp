#include "planner/explain/remedy_candidates.h"

namespace headroom::planner {

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
