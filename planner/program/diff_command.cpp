#include "planner/program/commands.h"

#include <nlohmann/json.hpp>

#include "decoder/base/errors.h"
#include "decoder/cli/arguments.h"
#include "decoder/cli/run_guard.h"
#include "planner/explain/diff.h"
#include "planner/program/loaded_plan.h"

namespace headroom::planner {

int diff_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& /*err*/) {
  CLI::App app(
      "Show what differs between two plans: limits and predictions, kept tensors, and pass by pass tiles, "
      "steps, peaks\n"
      "and times. Exit code 0 with differences and without.\n\n"
      "Example:\n"
      "  headroom-plan diff tight.json ample.json",
      "headroom-plan diff");
  std::string file_a, file_b, model;
  bool json = false;
  app.add_option("a", file_a, "plan file");
  app.add_option("b", file_b, "plan file to compare it with");
  app.add_option("--model", model, "the plans' model, if it is not found under the name in the plans");
  app.add_flag("--json", json, "print JSON");
  if (!parse_arguments(app, args, out)) return kDone;
  if (file_b.empty()) throw InputError("diff takes two plans, as in headroom-plan diff A.json B.json");
  const LoadedPlan a = load_plan(file_a, model), b = load_plan(file_b, model);
  const PlanDiff diff = diff_plans(a.plan, a.model.graph, b.plan, b.model.graph);
  if (json) {
    out << to_json(diff).dump(2) << "\n";
  } else {
    out << (diff.empty() ? "" : "A " + file_a + " -> B " + file_b + "\n") << to_text(diff);
  }
  return kDone;
}

}  // namespace headroom::planner
