#include "planner/program/commands.h"

#include <nlohmann/json.hpp>

#include "decoder/base/amounts.h"
#include "decoder/base/errors.h"
#include "decoder/base/text.h"
#include "decoder/cli/arguments.h"
#include "decoder/cli/prepare_outputs.h"
#include "decoder/cli/run_guard.h"
#include "decoder/plan/plan_file.h"
#include "planner/answer/planner.h"
#include "planner/cost/seconds_range.h"
#include "planner/explain/explain.h"
#include "planner/explain/summary.h"
#include "planner/explain/why_not.h"
#include "planner/program/request_options.h"
#include "planner/program/solve_ranks.h"
#include "planner/search/make_plan.h"

namespace headroom::planner {
namespace {

/// Checks that limits are given either for one device or for ranks.
void check_limits(const CLI::App& app, const RequestOptions& asked, const RankOptions& ranks) {
  for (const char* option : {"--link", "--rank-limit"}) {
    if (app.count(option) > 0 && !ranks.asked())
      throw InputError(std::string(option) + ": goes with --ranks");
  }
  if (ranks.asked() && app.count("--thrift") > 0)
    throw InputError("--thrift: not with --ranks, whose plans are always the fastest");
  if (ranks.asked() && asked.direction != "decode")
    throw InputError("--direction encode: not with --ranks; one device encodes a picture");
  if (app.count("--rank-limit") == 0 && app.count("--limit") == 0)
    throw InputError("--limit is required (try headroom-plan --help)");
  if (app.count("--rank-limit") > 0 && app.count("--limit") > 0)
    throw InputError("--rank-limit: expected no --limit beside it");
}

std::string solve_description() {
  return "Plan the decode of a latent under a memory limit: what to keep and where, what to recompute, which "
         "tiles.\n\n"
         "Examples:\n"
         "  headroom-plan --model sdxl --size 1024x1024 --limit 1.25GiB\n"
         "  headroom-plan --model sdxl --size 1024x1024 --limit 1.25GiB -o plan.json\n"
         "  headroom-plan --model sdxl --size 2048x2048 --limit 1GiB --scratch /var/tmp -o plan.json\n"
         "  headroom-plan --model sdxl --size 8192x8192 --ranks 4 --limit 6GiB -o plan.json\n"
         "  headroom-plan frontier --model sdxl --size 1024x1024\n"
         "  headroom-plan explain plan.json\n"
         "  headroom-plan validate plan.json\n\n" +
         commands_help(plan_commands()) +
         "\nExit codes: 0 done; 2 bad usage or input; 3 does not fit (the message has the smallest limit "
         "that does), or no plan was found within --time-budget; 5 failure.";
}

std::string summary(const std::string& named, const Plan& plan, const PlanOptions& options) {
  return named + one_line(request_line(plan.request)) + ", peak " + format_bytes(plan.predicted_peak_bytes) +
         " of " + format_bytes(options.limit_bytes) + ", " + seconds_text(plan) +
         (plan.assumed ? " " + costs_text(plan) : "") + ", " + std::to_string(plan.passes.size()) +
         " passes, " + std::to_string(plan.kept.size()) + " kept tensors, " + gap_text(plan) + "\n";
}

}  // namespace

int solve_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
  CLI::App app(solve_description(), "headroom-plan");
  RequestOptions asked;
  RankOptions ranks;
  std::string limit, output;
  double time_budget_seconds = 0;
  bool json = false;
  asked.add_to(app);
  app.add_option("--limit", limit,
                 "most memory of the device, weights included: 2GiB, 512MiB, or auto for the free memory");
  ranks.add_to(app, "plan for this many ranks; each decodes rows of its own, at the same time");
  app.add_option("--rank-limit", ranks.limits,
                 "instead of --limit: one limit for all ranks, or L,L,... for each");
  app.add_option("--thrift", asked.thrift,
                 "share of time to give for memory: of the plans that take at most this much longer than the "
                 "fastest, such as 5%, use a small one; 0 for the fastest; 1% by default");
  app.add_option("--time-budget", time_budget_seconds,
                 "most seconds to search; the plan is the best found by then, with a bound on better ones; "
                 "no limit by default")
      ->check(CLI::Range(0.0, 1e6));
  app.add_option("-o,--output", output, "the plan file; without it the plan's summary is all there is");
  app.add_flag("--json", json, "also print the plan on standard output; if none fits, the reason");
  if (!parse_arguments(app, args, out)) return kDone;

  if (app.count("--output") > 0 && output.empty())
    throw InputError("-o: expected the name of a file, found none");
  check_limits(app, asked, ranks);
  asked.check();
  const Model model = asked.resolved_model();
  Question question = asked.question(model, asked.picture_size());
  const MadeFolders folders = prepare_outputs({{"-o", output}, {"--json", json ? "-" : ""}},
                                              {{"--profile", asked.profile_file}, {"--model", asked.model}});
  std::ostream& said = message_stream({output}, out, err);
  PlanOptions& options = question.options;
  if (app.count("--time-budget") > 0) options.time_budget_seconds = time_budget_seconds;
  if (!ranks.asked()) options.limit_bytes = limit_from(limit, device_record(question.request.device));
  Plans plans;
  try {
    plans =
        ranks.asked() ? plan_ranks(model, question, ranks, limit) : alone(Planner(model, question).fastest());
  } catch (const RanksDoNotFit& refused) {
    if (json) out << to_json(refused).dump(2) << "\n";
    throw;
  } catch (const NothingFits& refused) {
    if (json) out << to_json(refused.why).dump(2) << "\n";
    throw;
  } catch (const NoPlanInTime& refused) {
    if (json) {
      out << nlohmann::json{{"fits", false},
                            {"limit_bytes", options.limit_bytes},
                            {"bound_seconds", refused.bound_seconds}}
                 .dump(2)
          << "\n";
    }
    throw;
  }
  if (!output.empty()) write_plans(output, plans, model.graph);
  asked.say_dtype(model, err);
  if (json) {
    out << to_json(plans, model.graph).dump(2) << "\n";
  } else {
    const std::string named = output.empty() ? "" : one_line(output) + ": ";
    said << (ranks.asked() ? ranks_summary(named, plans) : summary(named, plans.plans.front(), options));
  }
  return kDone;
}

}  // namespace headroom::planner
