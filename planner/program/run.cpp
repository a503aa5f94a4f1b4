#include "planner/program/run.h"

#include "decoder/cli/run_guard.h"
#include "planner/program/commands.h"

namespace headroom::planner {
namespace {

using Run = int (*)(const std::vector<std::string>&, std::ostream&, std::ostream&);

struct PlanCommand {
  const char* name;
  const char* meaning;
  Run run;
};

constexpr PlanCommand kPlanCommands[] = {
    {"frontier", "peak against time: the fastest plan under each of many limits", frontier_command},
    {"explain",
     "where a plan's peak and time come from, and what would lower the peak; --schedule, --analyze",
     explain_command},
    {"diff", "what differs between two plans", diff_command},
    {"validate", "check a plan or a queue independently of the program that made it", validate_command},
    {"queue", "plan several decodes that run one after another in one process", queue_command},
    {"models", "list the built-in decoder configurations, the names that --model takes", models_command}};

}  // namespace

std::vector<Command> plan_commands() {
  std::vector<Command> commands;
  for (const PlanCommand& command : kPlanCommands) commands.push_back({command.name, command.meaning});
  return commands;
}

int run_plan(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
  return guarded("headroom-plan", out, err, [&] {
    const std::string asked =
        command_of(args, plan_commands(),
                   "Without a command it makes a plan: headroom-plan --model sdxl --size 1024x1024 --limit "
                   "2GiB -o plan.json");
    for (const PlanCommand& command : kPlanCommands) {
      if (asked == command.name) return command.run({args.begin() + 1, args.end()}, out, err);
    }
    return solve_command(args, out, err);
  });
}

}  // namespace headroom::planner
