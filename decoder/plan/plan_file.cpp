#include "decoder/plan/plan_file.h"

#include <nlohmann/json.hpp>

#include "decoder/base/os/whole_file.h"
#include "decoder/plan/graph_names.h"

namespace headroom {
namespace {

/// JSON containers deeper than this are written on one line: a step, a list of intervals, a block range, a
/// transfer.
constexpr int kDeepestExpanded = 3, kDeepestExpandedRanks = 6, kDeepestExpandedTransfers = 0;

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

Plans PlanFile::plans(const Graph& graph) const {
  return of_own_model(request_.model, [&] { return plans_from_json(JsonFields(*json_, origin_), graph); });
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

void write_plans(const std::filesystem::path& file, const Plans& plans, const Graph& graph) {
  if (!plans.for_ranks()) return write_plan(file, plans.plans.front(), graph);
  nlohmann::json document = to_json(plans, graph);
  const nlohmann::json transfers = std::move(document["transfers"]);
  document.erase("transfers");
  std::string text = json_text(document, kDeepestExpandedRanks);
  text.erase(text.rfind("\n}"));
  text += ",\n \"transfers\": " + json_text(transfers, kDeepestExpandedTransfers) + "\n}\n";
  check_json(text, file.string() + ": too large a plan, take fewer ranks");
  write_file_whole(file, text);
}

}  // namespace headroom
