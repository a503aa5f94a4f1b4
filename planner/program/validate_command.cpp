#include "planner/program/commands.h"

#include <nlohmann/json.hpp>

#include "decoder/cli/arguments.h"
#include "decoder/cli/run_guard.h"
#include "decoder/validator/validator.h"
#include "planner/program/loaded_plan.h"

namespace headroom::planner {

int validate_command(const std::vector<std::string>& args, std::ostream& out) {
  CLI::App app("Check a plan independently of what made it: every position, block, statistic and byte.",
               "headroom-plan validate");
  std::string file, model;
  bool json = false;
  app.add_option("plan", file, "plan file")->required();
  app.add_option("--model", model, "the model, where the plan's own name for it does not resolve here");
  app.add_flag("--json", json, "print the violations as JSON");
  if (!parse_arguments(app, args, out)) return kDone;
  const LoadedPlan loaded = load_plan(file, model);
  const std::vector<Violation> violations = validate(loaded.plan, loaded.model);
  if (json) {
    nlohmann::json list = nlohmann::json::array();
    for (const Violation& v : violations)
      list.push_back({{"kind", name_of(v.kind)}, {"place", v.place}, {"what", v.what}});
    out << nlohmann::json{{"valid", violations.empty()}, {"violations", list}}.dump(2) << "\n";
  }
  require_valid(loaded.plan, loaded.model, file);
  if (!json) out << file << ": valid\n";
  return kDone;
}

}  // namespace headroom::planner
