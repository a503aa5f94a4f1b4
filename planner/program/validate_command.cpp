#include "planner/program/commands.h"

#include <nlohmann/json.hpp>

#include "decoder/cli/arguments.h"
#include "decoder/cli/run_guard.h"
#include "decoder/validator/validator.h"
#include "planner/program/loaded_plan.h"

namespace headroom::planner {
namespace {

std::vector<Violation> violations_of_queue(const LoadedQueue& loaded) {
  std::vector<Violation> all;
  for (size_t i = 0; i < loaded.queue.plans.size(); ++i) {
    for (Violation& violation : validate(loaded.queue.plans[i], loaded.model)) {
      violation.place = "plans[" + std::to_string(i) + "]: " + violation.place;
      all.push_back(std::move(violation));
    }
  }
  return all;
}

struct Checked {
  std::vector<Violation> violations;
  std::string planned;  ///< the model's name in the file
  Model model;
};

Checked check_file(const std::string& file, const std::string& model_argument) {
  if (is_queue(file)) {
    const LoadedQueue loaded = load_queue(file, model_argument);
    return {violations_of_queue(loaded), loaded.queue.model, loaded.model};
  }
  const LoadedPlans loaded = load_plans(file, model_argument);
  return {validate(loaded.plans, loaded.model), loaded.plans.request.model, loaded.model};
}

}  // namespace

int validate_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& /*err*/) {
  CLI::App app(
      "Check a plan, or those of a queue, independently of the program that made them: every position, "
      "block, statistic "
      "and "
      "byte.\n\n"
      "Example:\n"
      "  headroom-plan validate plan.json",
      "headroom-plan validate");
  std::string file, model;
  bool json = false;
  app.add_option("plan", file, "plan file, or a queue as headroom-plan queue writes it")->required();
  app.add_option("--model", model, "the plan's model, if it is not found under the name in the plan");
  app.add_flag("--json", json, "print the violations as JSON");
  if (!parse_arguments(app, args, out)) return kDone;
  const Checked checked = check_file(file, model);
  const std::vector<Violation>& violations = checked.violations;
  if (json) {
    nlohmann::json list = nlohmann::json::array();
    for (const Violation& v : violations)
      list.push_back({{"kind", name_of(v.kind)}, {"place", v.place}, {"what", v.what}});
    out << nlohmann::json{{"valid", violations.empty()}, {"violations", list}}.dump(2) << "\n";
  }
  require_none(violations, checked.planned, checked.model, file);
  if (!json) out << file << ": valid\n";
  return kDone;
}

}  // namespace headroom::planner
