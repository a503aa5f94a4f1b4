#include "planner/search/queue.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>

#include "decoder/base/errors.h"

namespace headroom::planner {
namespace {

/// A distinct size, and the indices of the requests that have it.
struct DistinctSize {
  Request request;
  std::vector<size_t> requests;
};

std::vector<DistinctSize> distinct_sizes(const RequestQueue& queue, const Request& like) {
  std::vector<DistinctSize> shapes;
  std::map<std::tuple<int64_t, int64_t, int64_t, int64_t>, size_t> known;
  for (size_t i = 0; i < queue.requests.size(); ++i) {
    const QueuedRequest& r = queue.requests[i];
    const auto [at, is_new] =
        known.try_emplace({r.width_pixels, r.height_pixels, r.frames, r.batch}, shapes.size());
    if (is_new)
      shapes.push_back({{like.model, r.width_pixels, r.height_pixels, r.frames, r.batch, like.dtype,
                         like.device, like.direction, like.tf32},
                        {}});
    shapes[at->second].requests.push_back(i);
  }
  return shapes;
}

/// Makes one plan for each shape. If a shape does not fit, the others are planned anyway, so that the message
/// can state a limit that works for all.
std::vector<Plan> plan_shapes(const RequestQueue& queue, const std::vector<DistinctSize>& shapes,
                              const Model& model, const PlanShape& plan_shape, const std::string& origin) {
  std::vector<Plan> plans;
  std::optional<DoesNotFit> largest;
  for (const DistinctSize& shape : shapes) {
    const std::string place = origin + ": " + place_of(queue, shape.requests.front()) + ": ";
    try {
      latent_extent(model, shape.request.width_pixels, shape.request.height_pixels, shape.request.frames);
      Plan plan = plan_shape(shape.request);
      if (!largest) plans.push_back(std::move(plan));
    } catch (const DoesNotFit& refused) {
      if (!largest || refused.smallest_limit_bytes > largest->smallest_limit_bytes) {
        largest = DoesNotFit(place + refused.what(), refused.smallest_limit_bytes);
      }
      plans.clear();
    } catch (const InputError& refused) {
      throw InputError(place + refused.what());
    }
  }
  if (largest) throw *largest;
  return plans;
}

}  // namespace

RequestQueue plan_queue(RequestQueue queue, const Model& model, const Request& like, int64_t limit_bytes,
                        const PlanShape& plan_shape, const std::string& origin) {
  const std::vector<DistinctSize> shapes = distinct_sizes(queue, like);
  std::vector<Plan> plans = plan_shapes(queue, shapes, model, plan_shape, origin);

  std::vector<size_t> by_need(shapes.size());
  std::iota(by_need.begin(), by_need.end(), size_t{0});
  const auto need = [&](size_t shape) { return plans[shape].predicted_peak_bytes; };
  std::stable_sort(by_need.begin(), by_need.end(), [&](size_t a, size_t b) { return need(a) > need(b); });

  queue.model = like.model;
  queue.dtype = like.dtype;
  queue.device = like.device;
  queue.tf32 = like.tf32;
  queue.planned = true;
  queue.limit_bytes = limit_bytes;
  queue.order.clear();
  queue.plans.clear();
  for (const size_t shape : by_need) {
    const auto plan = static_cast<int32_t>(queue.plans.size());
    queue.plans.push_back(std::move(plans[shape]));
    for (const size_t request : shapes[shape].requests) {
      for (int64_t repetition = 0; repetition < queue.requests[request].count; ++repetition) {
        queue.order.push_back({static_cast<int32_t>(request), static_cast<int32_t>(repetition), plan});
      }
    }
  }
  return queue;
}

}  // namespace headroom::planner
