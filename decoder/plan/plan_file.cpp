#include "decoder/plan/plan_file.h"

#include <nlohmann/json.hpp>

#include "decoder/base/os/whole_file.h"
#include "decoder/plan/of_own_model.h"
#include "decoder/plan/ranked_plan_file.h"

namespace headroom {
namespace {

/// JSON containers deeper than this are written on one line: a step, a list of intervals, a block range.
constexpr int kDeepestExpanded = 3;

}  // namespace

PlanFile::PlanFile(const std::filesystem::path& file)
    : origin_(file.string()),
      json_(std::make_shared<nlohmann::json>(read_json_file(file, kMostJsonBytes))),
      request_(read_request(JsonFields(*json_, origin_))) {}

Plan PlanFile::plan(const Graph& graph) const {
  return of_own_model(request_.model, [&] { return plan_from_json(JsonFields(*json_, origin_), graph); });
}

bool PlanFile::has_ranks() const {
  return headroom::has_ranks(JsonFields(*json_, origin_));
}

RankedPlan PlanFile::ranked_plan(const Graph& graph) const {
  return of_own_model(request_.model,
                      [&] { return ranked_plan_from_json(JsonFields(*json_, origin_), graph); });
}

Plan read_plan(const std::filesystem::path& file, const Graph& graph) {
  return PlanFile(file).plan(graph);
}

std::string plan_text(const Plan& plan, const Graph& graph) {
  return json_text(to_json(plan, graph), kDeepestExpanded) + '\n';
}

void write_plan(const std::filesystem::path& file, const Plan& plan, const Graph& graph) {
  write_file_whole(file, plan_text(plan, graph));
}

}  // namespace headroom
