#include "planner/search/recipe.h"

#include <algorithm>
#include <optional>

#include "decoder/graph/amounts.h"
#include "decoder/graph/errors.h"
#include "decoder/recipe/kept_edges.h"
#include "decoder/recipe/published_recipe.h"
#include "planner/search/make_plan.h"

namespace headroom::planner {
namespace {

/// The requests of distinct sizes, and which of them each tile is.
std::vector<Request> distinct_requests(RecipePlan& plan) {
  std::vector<Request> requests;
  for (size_t i = 0; i < tile_count(plan.recipe); ++i) {
    const Request tile = request_of_tile(plan.request, plan.recipe, tile_at(plan.recipe, i));
    const auto known = std::find(requests.begin(), requests.end(), tile);
    plan.plan_of_tile.push_back(static_cast<int32_t>(known - requests.begin()));
    if (known == requests.end()) requests.push_back(tile);
  }
  return requests;
}

/// That a tile needs more beside `other_bytes` of the whole.
DoesNotFit refusal(const DoesNotFit& of_tile, const RecipePlan& whole, int64_t other_bytes) {
  const int64_t smallest = of_tile.smallest_limit_bytes + other_bytes;
  return {"the tiles of " + std::string(name_of(whole.recipe.name)) + " take at least " +
              format_bytes(smallest) + " (" + std::to_string(smallest) + " bytes), of which " +
              format_bytes(whole.kept_bytes) + " are kept to blend them; of a tile: " + of_tile.what(),
          smallest};
}

/// Where some do not fit, all are tried, so that the message has the limit that suits them all.
std::vector<Plan> plan_all(const std::vector<Request>& requests, const RecipePlan& whole, int64_t kept_bytes,
                           const PlanTile& plan_tile) {
  std::vector<Plan> plans;
  std::optional<DoesNotFit> largest;
  for (const Request& request : requests) {
    try {
      Plan plan = plan_tile(request, std::max<int64_t>(0, whole.limit_bytes - kept_bytes));
      if (!largest) plans.push_back(std::move(plan));
    } catch (const NoPlanInTime&) {
      throw;
    } catch (const DoesNotFit& refused) {
      if (!largest || refused.smallest_limit_bytes + kept_bytes > largest->smallest_limit_bytes)
        largest = refusal(refused, whole, kept_bytes);
    }
  }
  if (largest) throw *largest;
  return plans;
}

/// One pool serves all tiles beside the largest reserve, so plans with a smaller one have less.
void fit_reserves(RecipePlan& plan, const PlanTile& plan_tile) {
  const RecipePrediction prediction = predict(plan);
  if (plan.request.device != DeviceKind::cpu || prediction.peak_bytes <= plan.limit_bytes) return;
  const int64_t pool_limit = plan.limit_bytes - prediction.kept_bytes - prediction.reserve_bytes;
  for (Plan& tile : plan.plans) {
    if (tile.predicted_peak_bytes - tile.reserve_bytes <= pool_limit) continue;
    try {
      tile = plan_tile(tile.request, pool_limit + tile.reserve_bytes);
    } catch (const NoPlanInTime&) {
      throw;
    } catch (const DoesNotFit& refused) {
      throw refusal(refused, plan, prediction.kept_bytes + prediction.reserve_bytes - tile.reserve_bytes);
    }
  }
}

}  // namespace

RecipePlan plan_recipe(const Model& model, const Request& request, RecipeName name, int64_t limit_bytes,
                       const PlanTile& plan_tile) {
  RecipePlan plan;
  plan.request = request;
  plan.limit_bytes = limit_bytes;
  plan.recipe = published_recipe(model, request, name);
  plan.kept_bytes = kept_bytes(plan.recipe, model, request.batch);
  const int64_t kept = request.device == DeviceKind::cpu ? plan.kept_bytes : 0;
  plan.plans = plan_all(distinct_requests(plan), plan, kept, plan_tile);
  fit_reserves(plan, plan_tile);
  const RecipePrediction prediction = predict(plan);
  plan.predicted_peak_bytes = prediction.peak_bytes;
  plan.predicted_seconds = prediction.seconds;
  return plan;
}

}  // namespace headroom::planner
