#include "planner/program/loaded_plan.h"

#include <nlohmann/json.hpp>

#include "decoder/base/errors.h"
#include "decoder/plan/plan_file.h"
#include "decoder/plan/requests_file.h"
#include "decoder/plan/sizes.h"
#include "decoder/weights/open_model.h"

namespace headroom::planner {

namespace {

Model model_of(const PlanFile& parsed, const std::string& file, const std::string& argument) {
  const Request& request = parsed.request();
  return model_for(open_model(argument.empty() ? find_model(request.model, file) : argument), request);
}

}  // namespace

LoadedPlans load_plans(const std::string& file, const std::string& model_argument) {
  const PlanFile parsed(file);
  Model model = model_of(parsed, file, model_argument);
  Plans plans = parsed.plans(model.graph);
  return {std::move(model), std::move(plans)};
}

LoadedPlan load_plan(const std::string& file, const std::string& model_argument, std::optional<size_t> rank) {
  const PlanFile parsed(file);
  if (rank && !parsed.has_ranks()) throw InputError("--rank: " + file + " is a plan of one decode");
  Model model = model_of(parsed, file, model_argument);
  Plans plans = rank ? parsed.plans(model.graph) : alone(parsed.plan(model.graph));
  const size_t ranks = plans.plans.size();
  if (rank.value_or(0) >= ranks) {
    throw InputError("--rank: " + file + " is for " + std::to_string(ranks) + " ranks, found " +
                     std::to_string(*rank));
  }
  return {std::move(model), std::move(plans.plans[rank.value_or(0)]), std::move(plans.transfers)};
}

bool is_queue(const std::string& file) {
  const nlohmann::json document = read_requests_file(file);
  if (!document.is_object()) return false;
  // Comparing a JSON value with text directly would copy the text inside a noexcept function.
  const auto schema = document.find("schema");
  return schema != document.end() && schema->is_string() &&
         schema->get_ref<const std::string&>() == "headroom.requests";
}

std::string model_of_queue(const RequestQueue& queue, const std::string& file,
                           const std::string& model_argument) {
  if (!model_argument.empty()) return model_argument;
  if (queue.model.empty()) throw InputError(file + ": model: missing; give it there or as --model");
  return find_model(queue.model, file);
}

LoadedQueue load_queue(const std::string& file, const std::string& model_argument) {
  const nlohmann::json document = read_requests_file(file);
  const JsonFields fields(document, file);
  const RequestQueue asked = planned_requests_from_json(fields);
  Model model = for_frames(open_model(model_of_queue(asked, file, model_argument)), most_frames(asked));
  RequestQueue queue = planned_queue_from_json(fields, model.graph);
  return {std::move(model), std::move(queue)};
}

}  // namespace headroom::planner
