#include "planner/answer/stream_plan.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "decoder/base/amounts.h"
#include "decoder/base/errors.h"
#include "decoder/gpu/stream_layouts.h"
#include "decoder/graph/geometry.h"
#include "decoder/schedule/stream_frames.h"

namespace headroom::planner {
namespace {

/// Each of the smaller plans is for a clip within this share of the limit before.
constexpr double kNextLimit = 0.8;

StreamPlan with_memory(const Planner& planner, Plan plan, const StreamRequest& request) {
  const StreamMemory memory = stream_memory(planner.model(), plan, request.block, planner.costs());
  plan.limit_bytes = request.limit_bytes;
  return {std::move(plan), request.block, memory, request.streams};
}

/// The plan that takes the least memory as streams, of those that were considered until one fits.
class Candidates {
 public:
  Candidates(const Planner& planner, const StreamRequest& request) : planner_(planner), request_(request) {}

  /// Plans whole clips under this limit. Returns the bytes by which the streams exceed their own limit.
  int64_t consider(int64_t limit_bytes) {
    std::optional<Plan> plan = limit_bytes > 0 ? planner_.fastest_if_any(limit_bytes) : std::nullopt;
    if (!plan) return 0;
    StreamPlan found = with_memory(planner_, *std::move(plan), request_);
    const int64_t bytes = found.peak_bytes(request_.streams);
    if (!best_ || bytes < best().peak_bytes(request_.streams)) best_ = std::move(found);
    return std::max<int64_t>(0, bytes - request_.limit_bytes);
  }
  bool fits() const { return best_ && best_->peak_bytes(request_.streams) <= request_.limit_bytes; }
  const StreamPlan& best() const { return best_.value(); }

 private:
  const Planner& planner_;
  const StreamRequest request_;
  std::optional<StreamPlan> best_;
};

}  // namespace

StreamMemory stream_memory(const Model& model, const Plan& plan, int64_t block, const CostModel& costs) {
  if (device_record(plan.request.device).places_allocations)
    return StreamLayouts(model, plan, block).memory(costs.reservation());
  return headroom::stream_memory(model, plan, block, costs.memory());
}

Question stream_question(const Model& model, Question of_size, int64_t block) {
  const std::string why = why_no_stream(model);
  if (!why.empty()) throw InputError(model.name + " cannot run block by block: " + why);
  if (block < 1) throw InputError("block: expected at least 1 latent frame, found " + std::to_string(block));
  of_size.request.frames = block * picture_scale(model.graph).t + 1;
  of_size.options.weights = WeightResidency::resident;
  return of_size;
}

StreamPlan plan_stream(const Planner& planner, const StreamRequest& request) {
  Candidates found(planner, request);
  const int64_t overshoot = found.consider(request.limit_bytes);
  if (overshoot > 0) found.consider(request.limit_bytes - overshoot);
  // A plan that takes less memory for a whole clip may leave more state: small tiles share many positions
  // with their neighbours, and each keeps its own. So smaller plans are tried one after another.
  const int64_t smallest = planner.smallest().predicted_peak_bytes;
  const std::optional<Plan> ample = found.fits() ? std::nullopt : planner.fastest_if_any(kNoLimit);
  double limit = ample ? double(std::min(request.limit_bytes, ample->predicted_peak_bytes)) : 0;
  if (limit < double(smallest) && ample) limit = double(ample->predicted_peak_bytes);
  for (; !found.fits() && limit > double(smallest); limit *= kNextLimit)
    found.consider(static_cast<int64_t>(limit));
  if (!found.fits()) found.consider(smallest);
  const StreamPlan& best = found.best();
  if (found.fits()) return best;
  const int64_t bytes = best.peak_bytes(request.streams);
  const std::string streams =
      request.streams == 1 ? "a stream takes" : std::to_string(request.streams) + " streams take";
  throw DoesNotFit(streams + " " + format_bytes(bytes) + " in blocks of " + std::to_string(request.block) +
                       " latent frames, of which " + format_bytes(best.memory.state_bytes) +
                       " stay between the blocks of each; limit " + format_bytes(request.limit_bytes) +
                       ". Give smaller blocks, or a limit of " + format_limit(bytes),
                   bytes);
}

}  // namespace headroom::planner
