#include "planner/program/run.h"

#include "decoder/cli/run_guard.h"
#include "planner/program/commands.h"

namespace headroom::planner {

int run_plan(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
  return guarded("headroom-plan", err, [&] {
    const std::string command = args.empty() ? "" : args.front();
    const std::vector<std::string> rest(args.empty() ? args.begin() : args.begin() + 1, args.end());
    if (command == "frontier") return frontier_command(rest, out, err);
    if (command == "explain") return explain_command(rest, out);
    if (command == "diff") return diff_command(rest, out);
    if (command == "validate") return validate_command(rest, out);
    if (command == "queue") return queue_command(rest, out, err);
    return solve_command(args, out, err);
  });
}

}  // namespace headroom::planner
