#include "planner/explain/why_not.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "decoder/graph/amounts.h"
#include "decoder/graph/short_name.h"
#include "decoder/lowering/attention.h"
#include "decoder/lowering/blocks.h"
#include "decoder/lowering/storage.h"
#include "decoder/lowering/weights_bytes.h"
#include "planner/explain/lower_peak.h"
#include "planner/search/make_plan.h"

namespace headroom::planner {
namespace {

std::string mebibytes_up(int64_t bytes) {
  return std::to_string((bytes + (int64_t{1} << 20) - 1) >> 20) + "MiB";
}

std::vector<Blocker> blockers_of(const Plan& plan, size_t number, const Model& model,
                                 const CostModel& costs) {
  const Graph& graph = model.graph;
  const Sizes sizes = sizes_of(graph, plan);
  const Pass& pass = plan.passes[number];
  const int64_t weights = device_weights_bytes(graph, plan, pass);
  std::vector<Blocker> list{{"weights", "weights", weights}, {"reserve", "reserve", plan.reserve_bytes}};
  if (const int64_t state = device_state_bytes(graph, sizes); state > 0)
    list.push_back({"statistics", "statistics", state});
  std::vector<TensorId> below;
  for (const Materialised& entry : plan.materialised) {
    const auto now = static_cast<int32_t>(number);
    if (entry.tier != MemoryTier::device) below.push_back(entry.tensor);
    if (entry.tier != MemoryTier::device || now < entry.first_pass || now > entry.last_pass) continue;
    // In the pass that takes blocks over they are listed under the tensor that had them.
    if (entry.in_place_of != TensorId{-1} && now == entry.first_pass) continue;
    list.push_back({graph.tensor(entry.tensor).name, "kept", materialised_bytes(graph, entry, sizes)});
  }
  const std::vector<StepBytes> working =
      step_bytes(graph, pass, longest_tile(pass), sizes, costs.memory(), staged_in(pass, below));
  const auto largest =
      std::max_element(working.begin(), working.end(),
                       [](const StepBytes& a, const StepBytes& b) { return a.total() < b.total(); });
  list.push_back({graph.tensor(pass.steps[static_cast<size_t>(largest - working.begin())].tensor).name,
                  "tiles", largest->total()});
  std::sort(list.begin(), list.end(), [](const Blocker& a, const Blocker& b) { return a.bytes > b.bytes; });
  return list;
}

}  // namespace

WhyNot why_not(const Problem& problem, double seconds) {
  const double begun = own_seconds();
  const Spaces spaces = spaces_of(problem);
  const Plan plan = quick_smallest_plan(problem, spaces);
  const auto highest = std::max_element(
      plan.passes.begin(), plan.passes.end(),
      [](const Pass& a, const Pass& b) { return a.predicted_peak_bytes < b.predicted_peak_bytes; });
  const auto pass = static_cast<size_t>(highest - plan.passes.begin());
  const double took = own_seconds() - begun;
  RemediesFound found =
      remedies_under_limit(problem, spaces, plan.limit_bytes, for_seconds(seconds - 2 * took));
  return {problem.options.limit_bytes,
          plan.limit_bytes,
          pass,
          highest->name,
          blockers_of(plan, pass, problem.model, problem.costs),
          std::move(found.remedies),
          std::move(found.not_looked_at)};
}

Plan plan_or_explain(const Problem& problem) {
  if (std::optional<Plan> plan = make_plan(problem)) return *std::move(plan);
  throw NothingFits(why_not(problem, kSecondsToLook), problem.request);
}

std::string to_text(const WhyNot& why, const Request& request) {
  std::string text = std::to_string(request.width_pixels) + "x" + std::to_string(request.height_pixels) +
                     " does not fit " + format_bytes(why.limit_bytes) +
                     "; the smallest limit that works is " + mebibytes_up(why.smallest_limit_bytes) + " (" +
                     std::to_string(why.smallest_limit_bytes) + " bytes): pass " + std::to_string(why.pass) +
                     " (" + short_name(why.pass_name) + ") holds";
  for (size_t i = 0; i < std::min<size_t>(why.blockers.size(), 4); ++i) {
    const Blocker& blocker = why.blockers[i];
    text += std::string(i ? ", " : " ") + (blocker.what == "tiles" ? "tiles of " : "") +
            short_name(blocker.name) + " " + format_bytes(blocker.bytes);
  }
  for (const Remedy& remedy : why.remedies) {
    text += "; with " + remedy.option + " it ";
    if (remedy.seconds) {
      text += "takes " + format_seconds(*remedy.seconds);
      if (remedy.needs_bytes) text += " and " + mebibytes_up(*remedy.needs_bytes) + " there";
    } else {
      text += "needs " + mebibytes_up(*remedy.smallest_limit_bytes);
    }
  }
  for (size_t i = 0; i < why.not_looked_at.size(); ++i)
    text += (i == 0 ? "; there was no time to look at " : ", ") + why.not_looked_at[i];
  return text;
}

nlohmann::json to_json(const WhyNot& why) {
  nlohmann::json blockers = nlohmann::json::array(), remedies = nlohmann::json::array();
  for (const Blocker& b : why.blockers)
    blockers.push_back({{"name", b.name}, {"what", b.what}, {"bytes", b.bytes}});
  for (const Remedy& r : why.remedies) {
    nlohmann::json entry{{"change", r.option}, {"fits", r.seconds.has_value()}};
    if (r.seconds) entry["seconds"] = *r.seconds;
    if (r.needs_bytes) entry["needs_bytes"] = *r.needs_bytes;
    if (r.smallest_limit_bytes) entry["smallest_limit_bytes"] = *r.smallest_limit_bytes;
    remedies.push_back(std::move(entry));
  }
  nlohmann::json json{{"fits", false},
                      {"limit_bytes", why.limit_bytes},
                      {"smallest_limit_bytes", why.smallest_limit_bytes},
                      {"pass", why.pass},
                      {"pass_name", why.pass_name},
                      {"blockers", std::move(blockers)},
                      {"relaxations", std::move(remedies)}};
  if (!why.not_looked_at.empty()) json["not_looked_at"] = why.not_looked_at;
  return json;
}

}  // namespace headroom::planner
