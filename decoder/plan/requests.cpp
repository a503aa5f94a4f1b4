#include "decoder/plan/requests.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace headroom {

QueuePrediction predict(const std::vector<const Plan*>& in_order) {
  QueuePrediction prediction;
  for (const Plan* plan : in_order) {
    prediction.pool_bytes = std::max(prediction.pool_bytes, plan->predicted_peak_bytes - plan->reserve_bytes);
    prediction.peak_bytes = std::max(prediction.peak_bytes, plan->predicted_peak_bytes);
    prediction.seconds += plan->predicted_seconds;
  }
  return prediction;
}

QueuePrediction predict(const RequestQueue& queue) {
  std::vector<const Plan*> in_order;
  for (const QueuedDecode& decode : queue.order)
    in_order.push_back(&queue.plans[static_cast<size_t>(decode.plan)]);
  return predict(in_order);
}

int64_t most_frames(const RequestQueue& queue) {
  int64_t most = 1;
  for (const QueuedRequest& request : queue.requests) most = std::max(most, request.frames);
  return most;
}

std::string path_for(const std::string& path, const QueuedRequest& request, int64_t repetition) {
  if (request.count == 1) return path;
  const std::string place = "{i}";
  std::string replaced;
  size_t from = 0;
  for (size_t at; (at = path.find(place, from)) != std::string::npos; from = at + place.size()) {
    replaced += path.substr(from, at - from) + std::to_string(repetition);
  }
  return replaced + path.substr(from);
}

std::string latent_for(const QueuedRequest& request, int64_t repetition) {
  if (request.latents.empty()) return "";
  const size_t i = request.latents.size() == 1 ? 0 : static_cast<size_t>(repetition);
  return path_for(request.latents[i], request, repetition);
}

std::string place_of(const RequestQueue& queue, size_t request) {
  // dump() escapes control characters in a hostile name.
  return "requests[" + std::to_string(request) + "] (" + nlohmann::json(queue.requests[request].name).dump() +
         ")";
}

std::string place_of(const RequestQueue& queue, const QueuedDecode& decode) {
  const auto request = static_cast<size_t>(decode.request);
  const bool several = queue.requests[request].count > 1;
  return place_of(queue, request) + (several ? ", repetition " + std::to_string(decode.repetition) : "");
}

}  // namespace headroom
