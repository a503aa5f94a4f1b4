#include "planner/program/commands.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "decoder/cli/arguments.h"
#include "decoder/cli/run_guard.h"
#include "decoder/graph/errors.h"
#include "decoder/plan/stats_file.h"
#include "decoder/validator/validator.h"
#include "planner/explain/analyze.h"
#include "planner/explain/explain.h"
#include "planner/program/loaded_plan.h"

namespace headroom::planner {

int explain_command(const std::vector<std::string>& args, std::ostream& out) {
  CLI::App app(
      "Show a plan as a tree of passes: what each reads, runs and keeps, and where, with its peak and time. "
      "With\n"
      "--analyze, a table of what was predicted and what a run of the plan measured, the worst prediction "
      "first.\n\n"
      "Examples:\n"
      "  headroom-plan explain plan.json\n"
      "  headroom-decode --plan plan.json --model vae/ --latent latent.npy -o picture.png --stats "
      "stats.json\n"
      "  headroom-plan explain plan.json --analyze stats.json",
      "headroom-plan explain");
  std::string file, stats_file, model;
  std::optional<size_t> rank;
  bool json = false;
  app.add_option("plan", file, "plan file")->required();
  app.add_option("--analyze", stats_file,
                 "statistics of a run of this plan, as headroom-decode --stats writes them");
  app.add_option("--rank", rank, "of a plan for several ranks, this one's part; 0 is the first");
  app.add_option("--model", model, "the model, where the plan's own name for it does not resolve here");
  app.add_flag("--json", json, "print JSON");
  if (!parse_arguments(app, args, out)) return kDone;
  // Ranks measure their passes each for itself, and statistics have those of the first.
  if (rank && *rank > 0 && !stats_file.empty()) throw InputError("--analyze: goes with --rank 0");
  const LoadedPlan loaded = rank ? load_rank(file, model, *rank) : load_plan(file, model);
  require_valid(loaded.plan, loaded.model, file);
  if (!stats_file.empty()) {
    const Analysis analysis = analyze(loaded.plan, file, read_stats(stats_file), stats_file);
    out << (json ? to_json(analysis).dump(2) + "\n" : to_text(analysis));
  } else {
    out << (json ? explain_json(loaded.plan, loaded.model).dump(2) + "\n"
                 : explain(loaded.plan, loaded.model));
  }
  return kDone;
}

}  // namespace headroom::planner
