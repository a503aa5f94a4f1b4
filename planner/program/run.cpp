#include "planner/program/run.h"

#include "decoder/cli/arguments.h"
#include "decoder/cli/run_guard.h"
#include "decoder/graph/errors.h"
#include "decoder/graph/model.h"
#include "decoder/plan/plan_file.h"
#include "decoder/plan/validator.h"
#include "planner/cost_model.h"
#include "planner/explain.h"
#include "planner/program/limit_argument.h"
#include "planner/program/queue_command.h"
#include "planner/solver.h"
#include "profiler/profile/profile_file.h"

namespace headroom {
namespace {

int solve(const std::vector<std::string>& args, std::ostream& out) {
  CLI::App app(
      "Plan the decode of a latent under a memory limit: what to keep, what to recompute, which tiles.\n\n"
      "Examples:\n"
      "  headroom-plan --model sdxl --size 1024x1024 --limit 1.25GiB -o plan.json\n"
      "  headroom-plan explain plan.json\n"
      "  headroom-plan validate plan.json\n\n"
      "Other commands: explain PLAN (a tree of passes), validate PLAN (check it independently), queue REQUESTS (several\n"
      "decodes over one pool); each has --help.\n"
      "Exit codes: 0 done; 2 bad usage or input; 3 does not fit (the message has the smallest limit that does); 5 failure.",
      "headroom-plan");
  std::string model_argument, profile_file, size, dtype = "fp32", limit, output;
  int64_t frames = 1, batch = 1;
  bool json = false;
  app.add_option("--model", model_argument, "folder with config.json, or a built-in name (sd15, sdxl, sd3, flux)")->required();
  app.add_option("--profile", profile_file, "costs measured by headroom-profile; stated assumptions without");
  app.add_option("--size", size, "picture size in pixels, WIDTHxHEIGHT")->required();
  app.add_option("--frames", frames, "frames; 1 for pictures")->check(CLI::Range(int64_t{1}, int64_t{1} << 20));
  app.add_option("--batch", batch, "pictures in the latent")->check(CLI::Range(int64_t{1}, int64_t{4096}));
  app.add_option("--dtype", dtype, "fp32, bf16 or fp16");
  app.add_option("--limit", limit, "device bytes, weights included: 2GiB, 512MiB, or auto for what is free")->required();
  app.add_option("-o,--output", output, "the plan file")->required();
  app.add_flag("--json", json, "print the plan on standard output as well");
  if (!parse_arguments(app, args, out)) return kDone;

  const Model model = resolve_model(model_argument);
  const auto [width, height] = parse_size(size, "--size");
  const Request request{model_argument, width, height, frames, batch, parse_dtype(dtype)};
  latent_extent(model, width, height, frames);
  const int64_t limit_bytes = limit_from(limit);
  Plan plan;
  if (profile_file.empty()) {
    plan = make_plan(model, request, limit_bytes, CostModel(model.graph));
  } else {
    const Profile profile = read_profile(profile_file);
    if (profile.dtype != request.dtype) {
      throw InputError(profile_file + ": dtype: expected " + dtype + " as asked for, found " + name_of(profile.dtype));
    }
    plan = make_plan(model, request, limit_bytes, CostModel(model.graph, profile, request));
  }
  write_plan(output, plan, model.graph);
  if (json) {
    out << to_json(plan, model.graph).dump(2) << "\n";
  } else {
    out << output << ": peak " << format_bytes(plan.predicted_peak_bytes) << " of " << format_bytes(limit_bytes) << ", "
        << format_seconds(plan.predicted_seconds) << (plan.assumed ? " by assumed costs" : "") << ", " << plan.passes.size()
        << " passes, " << plan.kept.size() << " kept tensors" << (plan.optimal ? ", optimal" : "") << "\n";
  }
  return kDone;
}

/// The plan in a file and the model that it names, or that --model gives in its place.
struct LoadedPlan {
  Model model;
  Plan plan;
};

LoadedPlan load(const std::string& file, const std::string& model_argument) {
  const PlanFile parsed(file);
  Model model = resolve_model(model_argument.empty() ? parsed.request().model : model_argument);
  Plan plan = parsed.plan(model.graph);
  return {std::move(model), std::move(plan)};
}

int explain_command(const std::vector<std::string>& args, std::ostream& out) {
  CLI::App app("Show a plan as a tree of passes: what each reads, runs and keeps, with its peak and time.", "headroom-plan explain");
  std::string file, model;
  app.add_option("plan", file, "plan file")->required();
  app.add_option("--model", model, "the model, where the plan's own name for it does not resolve here");
  if (!parse_arguments(app, args, out)) return kDone;
  const LoadedPlan loaded = load(file, model);
  out << explain(loaded.plan, loaded.model);
  return kDone;
}

int validate_command(const std::vector<std::string>& args, std::ostream& out) {
  CLI::App app("Check a plan independently of what made it: every position, block, statistic and byte.", "headroom-plan validate");
  std::string file, model;
  bool json = false;
  app.add_option("plan", file, "plan file")->required();
  app.add_option("--model", model, "the model, where the plan's own name for it does not resolve here");
  app.add_flag("--json", json, "print the violations as JSON");
  if (!parse_arguments(app, args, out)) return kDone;
  const LoadedPlan loaded = load(file, model);
  const std::vector<Violation> violations = validate(loaded.plan, loaded.model);
  if (json) {
    nlohmann::json list = nlohmann::json::array();
    for (const Violation& v : violations) list.push_back({{"kind", name_of(v.kind)}, {"place", v.place}, {"what", v.what}});
    out << nlohmann::json{{"valid", violations.empty()}, {"violations", list}}.dump(2) << "\n";
  }
  require_valid(loaded.plan, loaded.model, file);
  if (!json) out << file << ": valid\n";
  return kDone;
}

}  // namespace

int run_plan(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
  return guarded("headroom-plan", err, [&] {
    const std::string command = args.empty() ? "" : args.front();
    const std::vector<std::string> rest(args.empty() ? args.begin() : args.begin() + 1, args.end());
    if (command == "explain") return explain_command(rest, out);
    if (command == "validate") return validate_command(rest, out);
    if (command == "queue") return queue_command(rest, out);
    return solve(args, out);
  });
}

}  // namespace headroom
