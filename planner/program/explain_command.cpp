#include <nlohmann/json.hpp>
#include <optional>

#include "decoder/base/amounts.h"
#include "decoder/base/errors.h"
#include "decoder/cli/arguments.h"
#include "decoder/cli/run_guard.h"
#include "decoder/plan/plan_file.h"
#include "decoder/plan/stats_file.h"
#include "decoder/validator/validator.h"
#include "planner/answer/planner.h"
#include "planner/explain/analyze.h"
#include "planner/explain/explain.h"
#include "planner/explain/schedule.h"
#include "planner/explain/summary.h"
#include "planner/program/commands.h"
#include "planner/program/loaded_plan.h"

namespace headroom::planner {
namespace {

struct ExplainAsked {
  std::string file, stats_file, model, profile_file;
  std::optional<size_t> rank;
  std::optional<size_t> pass;
  bool schedule = false, quick = false, json = false;
};

/// Changes that would lower the peak, or the reason why nobody looked for them.
struct LowerAnswer {
  std::optional<LowerPeak> lower;
  std::string remark;
};

LowerAnswer lower_of(const LoadedPlan& loaded, const ExplainAsked& asked) {
  if (asked.quick) return {{}, "not looked for (--quick)"};
  if (asked.rank) return {{}, "not looked for: this is one rank's part of a plan"};
  if (!loaded.plan.assumed && asked.profile_file.empty())
    return {{}, "not searched: the plan was made with a profile; give it as --profile PROFILE"};
  Question question{.request = loaded.plan.request, .options = options_of(loaded.plan)};
  if (!loaded.plan.assumed) set_profile(question, asked.profile_file);
  question.other_environment = true;
  const Planner planner(loaded.model, question);
  return {what_would_lower(planner.problem(), loaded.plan, for_seconds(kSecondsToLook)), {}};
}

void print_plan(const LoadedPlan& loaded, const ExplainAsked& asked, std::ostream& out) {
  if (asked.json) {
    nlohmann::json document = explain_json(loaded.plan, loaded.model);
    const LowerAnswer answer = lower_of(loaded, asked);
    if (answer.lower) document.update(to_json(*answer.lower));
    out << document.dump(2) << "\n";
    return;
  }
  const LowerAnswer answer = lower_of(loaded, asked);
  out << summarise(loaded.plan, loaded.model, answer.lower, answer.remark)
      << "passes   --schedule shows what each of them takes, makes and gives back\n";
}

/// Prints all plans of a queue.
void print_queue(const ExplainAsked& asked, std::ostream& out) {
  if (asked.rank) throw InputError("--rank: " + asked.file + " is a queue");
  if (!asked.stats_file.empty())
    throw InputError("--analyze: not of a queue; headroom-report shows its runs");
  const LoadedQueue loaded = load_queue(asked.file, asked.model);
  const RequestQueue& queue = loaded.queue;
  for (size_t i = 0; i < queue.plans.size(); ++i)
    require_valid(queue.plans[i], loaded.model, asked.file + ": plans[" + std::to_string(i) + "]");
  nlohmann::json plans = nlohmann::json::array();
  const QueuePrediction prediction = predict(queue);
  if (!asked.json) {
    out << queue.order.size() << " decodes of " << queue.plans.size() << " shapes, one after another, peak "
        << format_bytes(prediction.peak_bytes) << " of " << format_bytes(queue.limit_bytes) << ", "
        << format_seconds(prediction.seconds) << "\n";
  }
  for (size_t i = 0; i < queue.plans.size(); ++i) {
    const Plan& plan = queue.plans[i];
    if (asked.json) {
      plans.push_back(explain_json(plan, loaded.model));
      continue;
    }
    std::string decodes;
    for (const QueuedDecode& decode : queue.order) {
      const QueuedRequest& request = queue.requests[static_cast<size_t>(decode.request)];
      if (decode.plan != static_cast<int32_t>(i) || decode.repetition > 0) continue;
      decodes += (decodes.empty() ? "" : ", ") + request.name +
                 (request.count > 1 ? " (" + std::to_string(request.count) + " times)" : "");
    }
    out << "\nplan " << i << ", of " << decodes << "\n" << summarise(plan, loaded.model, {});
  }
  if (!asked.json) return;
  out << nlohmann::json{{"limit_bytes", queue.limit_bytes},    {"peak_bytes", prediction.peak_bytes},
                        {"pool_bytes", prediction.pool_bytes}, {"seconds", prediction.seconds},
                        {"decodes", queue.order.size()},       {"plans", std::move(plans)}}
             .dump(2)
      << "\n";
}

}  // namespace

int explain_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& /*err*/) {
  CLI::App app(
      "Show where a plan's peak comes from, where its time goes, and what would lower the peak. "
      "--schedule shows the\n"
      "passes in order: the memory that each step and each band takes and gives back. "
      "--analyze compares\n"
      "predictions with the measurements of a run, largest difference in seconds first.\n\n"
      "Examples:\n"
      "  headroom-plan explain plan.json\n"
      "  headroom-decode --plan plan.json --model vae/ --latent latent.npy -o picture.png --stats "
      "stats.json\n"
      "  headroom-plan explain plan.json --analyze stats.json",
      "headroom-plan explain");
  ExplainAsked asked;
  app.add_option("plan", asked.file, "plan file, or a queue as headroom-plan queue writes it")->required();
  app.add_flag(
      "--schedule", asked.schedule,
      "print the passes in order, with the steps of each pass and the memory that each band allocates and "
      "frees");
  app.add_option("--pass", asked.pass, "with --schedule: only this pass, with a line for every band");
  app.add_option("--analyze", asked.stats_file,
                 "compare with the statistics of a run of this plan, from headroom-decode --stats");
  app.add_option("--rank", asked.rank,
                 "for a plan for several ranks: explain the part of this rank; the first is 0");
  app.add_option("--profile", asked.profile_file, "the plan's profile, to tell the costs of a lower peak");
  app.add_option("--model", asked.model, "the plan's model, if it is not found under the name in the plan");
  app.add_flag("--quick", asked.quick, "skip the search for changes that lower the peak");
  app.add_flag("--json", asked.json, "print JSON");
  if (!parse_arguments(app, args, out)) return kDone;
  // Every rank measures its own passes, and the statistics file holds those of rank 0.
  if (asked.rank && *asked.rank > 0 && !asked.stats_file.empty())
    throw InputError("--analyze: goes with --rank 0");
  const bool lower = asked.stats_file.empty() && !asked.quick;
  if (asked.schedule) {
    if (asked.json) throw InputError("--schedule: not with --json");
    if (!asked.stats_file.empty() || !asked.profile_file.empty())
      throw InputError("--schedule: not with --analyze or --profile");
    if (is_queue(asked.file))
      throw InputError("--schedule: " + asked.file + " is a queue; plan one decode of it alone");
    if (!asked.rank && PlanFile(asked.file).has_ranks())
      throw InputError("--schedule: " + asked.file +
                       " is for several ranks; --rank picks one, 0 is the first");
  }
  if (asked.pass && !asked.schedule) throw InputError("--pass: goes with --schedule");
  if (!asked.profile_file.empty() && !lower)
    throw InputError("--profile: is for what would lower the peak; not with --analyze or --quick");
  if (is_queue(asked.file)) {
    if (!asked.profile_file.empty()) throw InputError("--profile: " + asked.file + " is a queue");
    print_queue(asked, out);
    return kDone;
  }
  const LoadedPlan loaded = load_plan(asked.file, asked.model, asked.rank);
  require_valid(loaded.plan, loaded.model, asked.file);
  if (asked.schedule) {
    out << schedule(loaded.plan, loaded.model, {.pass = asked.pass, .transfers = loaded.transfers});
  } else if (!asked.stats_file.empty()) {
    const Analysis analysis =
        analyze(loaded.plan, asked.file, read_stats(asked.stats_file), asked.stats_file);
    out << (asked.json ? to_json(analysis).dump(2) + "\n" : to_text(analysis));
  } else {
    print_plan(loaded, asked, out);
  }
  return kDone;
}

}  // namespace headroom::planner
