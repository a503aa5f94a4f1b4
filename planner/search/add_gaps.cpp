#include "planner/search/add_gaps.h"

#include <algorithm>

#include "decoder/gpu/dry_run.h"
#include "decoder/schedule/memory.h"
#include "decoder/schedule/weights_bytes.h"

namespace headroom::planner {

std::vector<PlacedPass> add_gaps(Plan& plan, const Model& model, const ReservationSizes& sizes) {
  if (!device_record(plan.request.device).places_allocations) return {};
  const int64_t picture = picture_bytes(model.graph, plan.request);
  const DryRun dry_run = run_dry_within(model, plan, sizes.most_within(plan.limit_bytes - picture));
  const int64_t live_bytes = plan.predicted_peak_bytes - picture;
  const int64_t gaps = sizes.taken_bytes(std::max(dry_run.bytes(), live_bytes)) - live_bytes;
  plan.reserve_bytes += gaps;
  plan.predicted_peak_bytes += gaps;
  for (Pass& pass : plan.passes) pass.predicted_peak_bytes += gaps;
  plan.limit_bytes = std::max(plan.limit_bytes, plan.predicted_peak_bytes);
  plan.host_limit_bytes = std::max(plan.host_limit_bytes, dry_run.host.bytes);
  // Kept tensors have priority in host memory. Weights stay there only if all of them fit the rest of the
  // host limit, or if there is no limit.
  const int64_t weights = plan.weights == WeightResidency::per_pass
                              ? resident_weights_bytes(model.graph, storage_of(plan.request))
                              : 0;
  if (plan.host_limit_bytes == 0 || dry_run.host.bytes + weights <= plan.host_limit_bytes)
    plan.host_weights_bytes = weights;
  const std::vector<int64_t> reserved = dry_run.bytes_by_pass();
  const std::vector<std::vector<Copy>> copies = dry_run.copies_by_pass();
  std::vector<PlacedPass> passes;
  for (size_t i = 0; i < reserved.size(); ++i) {
    PlacedPass& pass = passes.emplace_back(PlacedPass{picture + reserved[i], {}});
    for (const Copy& copy : copies[i]) pass.copied_bytes.push_back(copy.bytes);
  }
  return passes;
}

std::vector<size_t> crowded_passes(const PlacedBytes& placed, int64_t limit_bytes) {
  std::vector<size_t> beyond, crowded;
  for (size_t pass = 0; pass < placed.live.size(); ++pass) {
    const int64_t over = placed.reserved[pass] - limit_bytes;
    if (over <= 0) continue;
    beyond.push_back(pass);
    // A pass with much free memory does not cause the overrun.
    if (limit_bytes - placed.live[pass] <= over) crowded.push_back(pass);
  }
  if (!crowded.empty() || beyond.empty()) return crowded;
  return {*std::max_element(beyond.begin(), beyond.end(),
                            [&](size_t a, size_t b) { return placed.live[a] < placed.live[b]; })};
}

HeldBack narrowed(HeldBack held_back, const std::vector<size_t>& passes, const PlacedBytes& placed,
                  int64_t limit_bytes, double share) {
  for (const size_t pass : passes) {
    const auto less = static_cast<int64_t>(double(placed.reserved[pass] - limit_bytes) * share);
    held_back[pass] = std::max(held_back[pass], limit_bytes - placed.live[pass] + std::max<int64_t>(1, less));
  }
  return held_back;
}

}  // namespace headroom::planner
