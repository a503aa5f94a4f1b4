#include "planner/answer/stream_plan.h"

#include <optional>
#include <string>
#include <utility>

#include "decoder/base/amounts.h"
#include "decoder/base/errors.h"
#include "decoder/graph/geometry.h"
#include "decoder/schedule/stream_frames.h"

namespace headroom::planner {
namespace {

/// Each search leaves room for the state of the plan before it.
constexpr int kMostSearches = 8;

StreamPlan with_memory(const Planner& planner, Plan plan, const StreamRequest& request) {
  const MemoryModel& model = planner.costs().memory();
  const StreamMemory memory = stream_memory(planner.model(), plan, request.block, model);
  plan.limit_bytes = request.limit_bytes;
  StreamPlan found{std::move(plan), request.block, memory};
  if (request.limit_bytes == kNoLimit) found.plan.limit_bytes = found.peak_bytes(request.streams);
  return found;
}

}  // namespace

Question stream_question(const Model& model, Question of_size, int64_t block) {
  const std::string why = why_no_stream(model);
  if (!why.empty()) throw InputError(model.name + " cannot run block by block: " + why);
  if (block < 1) throw InputError("block: expected at least 1 latent frame, found " + std::to_string(block));
  of_size.request.frames = block * picture_scale(model.graph).t + 1;
  of_size.options.weights = WeightResidency::resident;
  return of_size;
}

StreamPlan plan_stream(const Planner& planner, const StreamRequest& request) {
  int64_t limit = request.limit_bytes;
  for (int search = 0; search < kMostSearches && limit > 0; ++search) {
    std::optional<Plan> plan = planner.fastest_if_any(limit);
    if (!plan) break;
    StreamPlan found = with_memory(planner, *std::move(plan), request);
    const int64_t bytes = found.peak_bytes(request.streams);
    if (bytes <= request.limit_bytes) return found;
    limit -= bytes - request.limit_bytes;
  }
  StreamPlan smallest = with_memory(planner, planner.smallest(), request);
  const int64_t bytes = smallest.peak_bytes(request.streams);
  if (bytes <= request.limit_bytes) return smallest;
  const std::string streams =
      request.streams == 1 ? "a stream takes" : std::to_string(request.streams) + " streams take";
  throw DoesNotFit(streams + " " + format_bytes(bytes) + " in blocks of " + std::to_string(request.block) +
                       " latent frames, of which " + format_bytes(smallest.memory.state_bytes) +
                       " stay between the blocks of each; limit " + format_bytes(request.limit_bytes) +
                       ". Give smaller blocks, or a limit of " + format_limit(bytes),
                   bytes);
}

}  // namespace headroom::planner
