#include "planner/program/run.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "decoder/cli/arguments.h"
#include "decoder/cli/run_guard.h"
#include "decoder/graph/errors.h"
#include "decoder/graph/model.h"
#include "decoder/plan/plan_file.h"
#include "decoder/plan/validator.h"
#include "planner/cost_model.h"
#include "planner/explain.h"
#include "planner/frontier.h"
#include "planner/make_plan.h"
#include "planner/why_not.h"
#include "profiler/profile/profile_file.h"

namespace headroom {
namespace {

/// Kept free under --limit auto, for whatever else the machine is doing.
constexpr int64_t kAutoMarginBytes = int64_t{256} << 20;

int64_t free_memory_bytes() {
  std::ifstream in("/proc/meminfo");
  std::string key, unit;
  int64_t kibibytes = 0;
  while (in >> key >> kibibytes) {
    std::getline(in, unit);
    if (key == "MemAvailable:") return kibibytes * 1024;
  }
  throw DeviceError("/proc/meminfo: no MemAvailable; give --limit in bytes");
}

int64_t free_disk_bytes(const std::string& folder) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  if (error) throw InputError("--scratch " + folder + ": expected a folder that exists (" + error.message() + ")");
  return static_cast<int64_t>(space.available);
}

int64_t limit_from(const std::string& text) {
  if (text == "auto") return std::max<int64_t>(0, free_memory_bytes() - kAutoMarginBytes);
  return parse_bytes(text, "--limit");
}

/// What `headroom-plan` and `headroom-plan frontier` have in common.
struct RequestOptions {
  std::string model, profile_file, size, dtype = "fp32", host_limit, scratch_folder, scratch_limit, weights = "auto";
  int64_t frames = 1, batch = 1;

  void add_to(CLI::App& app) {
    app.add_option("--model", model, "folder with config.json, or a built-in name (sd15, sdxl, sd3, flux)")->required();
    app.add_option("--profile", profile_file, "costs measured by headroom-profile; stated assumptions without");
    app.add_option("--size", size, "picture size in pixels, WIDTHxHEIGHT")->required();
    app.add_option("--frames", frames, "frames; 1 for pictures")->check(CLI::Range(int64_t{1}, int64_t{1} << 20));
    app.add_option("--batch", batch, "pictures in the latent")->check(CLI::Range(int64_t{1}, int64_t{4096}));
    app.add_option("--dtype", dtype, "fp32, bf16 or fp16");
    app.add_option("--host-limit", host_limit, "host memory for kept tensors, where the device has its own memory");
    app.add_option("--scratch", scratch_folder, "a folder on a disk for a scratch file of kept tensors");
    app.add_option("--scratch-limit", scratch_limit, "bytes of that file; what is free there without");
    app.add_option("--weights-residency", weights, "parameters in memory throughout, brought in per pass, or whichever is faster")
        ->check(CLI::IsMember({"auto", "resident", "per_pass"}));
  }

  Request request(const Model& resolved) const {
    const auto [width, height] = parse_size(size, "--size");
    latent_extent(resolved, width, height, frames);
    return {model, width, height, frames, batch, parse_dtype(dtype)};
  }

  PlanOptions plan_options() const {
    PlanOptions options;
    if (!host_limit.empty()) options.host_limit_bytes = parse_bytes(host_limit, "--host-limit");
    if (!scratch_folder.empty()) {
      options.scratch_folder = scratch_folder;
      options.scratch_limit_bytes = scratch_limit.empty() ? free_disk_bytes(scratch_folder) : parse_bytes(scratch_limit, "--scratch-limit");
    } else if (!scratch_limit.empty()) {
      throw InputError("--scratch-limit: expected --scratch FOLDER beside it");
    }
    if (weights == "resident") options.weights = WeightResidency::resident;
    if (weights == "per_pass") options.weights = WeightResidency::per_pass;
    return options;
  }

  CostModel costs(const Model& resolved, const Request& asked) const {
    if (profile_file.empty()) return CostModel(resolved.graph);
    const Profile profile = read_profile(profile_file);
    if (profile.dtype != asked.dtype) {
      throw InputError(profile_file + ": dtype: expected " + dtype + " as asked for, found " + name_of(profile.dtype));
    }
    return CostModel(resolved.graph, profile, asked);
  }
};

int solve(const std::vector<std::string>& args, std::ostream& out) {
  CLI::App app(
      "Plan the decode of a latent under a memory limit: what to keep and where, what to recompute, which tiles.\n\n"
      "Examples:\n"
      "  headroom-plan --model sdxl --size 1024x1024 --limit 1.25GiB -o plan.json\n"
      "  headroom-plan --model sdxl --size 2048x2048 --limit 1GiB --scratch /var/tmp -o plan.json\n"
      "  headroom-plan frontier --model sdxl --size 1024x1024\n"
      "  headroom-plan explain plan.json\n"
      "  headroom-plan validate plan.json\n\n"
      "Other commands: frontier (peak against time), explain PLAN (a tree of passes), validate PLAN (check it\n"
      "independently); each has --help.\n"
      "Exit codes: 0 done; 2 bad usage or input; 3 does not fit (the message has the smallest limit that does); 5 failure.",
      "headroom-plan");
  RequestOptions asked;
  std::string limit, output;
  double time_budget_seconds = 0;
  bool json = false;
  asked.add_to(app);
  app.add_option("--limit", limit, "device bytes, weights included: 2GiB, 512MiB, or auto for what is free")->required();
  app.add_option("--time-budget", time_budget_seconds, "seconds to search; the best found by then, with its bound")->check(CLI::Range(0.0, 1e6));
  app.add_option("-o,--output", output, "the plan file")->required();
  app.add_flag("--json", json, "print the plan on standard output as well; where none fits, why");
  if (!parse_arguments(app, args, out)) return kDone;

  const Model model = resolve_model(asked.model);
  const Request request = asked.request(model);
  PlanOptions options = asked.plan_options();
  options.limit_bytes = limit_from(limit);
  if (app.count("--time-budget") > 0) options.time_budget_seconds = time_budget_seconds;
  const CostModel costs = asked.costs(model, request);
  Plan plan;
  try {
    plan = make_plan(model, request, options, costs);
  } catch (const DoesNotFit&) {
    if (json) out << to_json(why_not(model, request, options, costs)).dump(2) << "\n";
    throw;
  }
  write_plan(output, plan, model.graph);
  if (json) {
    out << to_json(plan, model.graph).dump(2) << "\n";
  } else {
    out << output << ": peak " << format_bytes(plan.predicted_peak_bytes) << " of " << format_bytes(options.limit_bytes) << ", "
        << format_seconds(plan.predicted_seconds) << (plan.assumed ? " by assumed costs" : "") << ", " << plan.passes.size()
        << " passes, " << plan.kept.size() << " kept tensors, " << proof_text(plan) << "\n";
  }
  return kDone;
}

int frontier_command(const std::vector<std::string>& args, std::ostream& out) {
  CLI::App app(
      "Peak against time: the fastest plan under each of many limits, from the smallest that works to where more memory\n"
      "gains nothing. Every peak printed is a --limit under which headroom-plan finds that plan.\n\n"
      "Example:\n"
      "  headroom-plan frontier --model sdxl --size 1024x1024 -o frontier.json --csv frontier.csv",
      "headroom-plan frontier");
  RequestOptions asked;
  std::string output, csv;
  size_t points = 32;
  bool json = false;
  asked.add_to(app);
  app.add_option("--points", points, "limits to try")->check(CLI::Range(size_t{2}, size_t{1000}));
  app.add_option("-o,--output", output, "the frontier as a file (JSON)");
  app.add_option("--csv", csv, "the same as a table");
  app.add_flag("--json", json, "print JSON on standard output instead of the plot");
  if (!parse_arguments(app, args, out)) return kDone;

  const Model model = resolve_model(asked.model);
  const Request request = asked.request(model);
  const CostModel costs = asked.costs(model, request);
  const std::vector<FrontierPoint> found = frontier(model, request, asked.plan_options(), costs, points);
  const nlohmann::json document = to_json(found, request, costs.assumed());
  if (!output.empty()) write_file_whole(output, document.dump(1) + "\n");
  if (!csv.empty()) write_file_whole(csv, frontier_csv(found));
  out << (json ? document.dump(2) + "\n" : frontier_plot(found));
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
    if (command == "frontier") return frontier_command(rest, out);
    if (command == "explain") return explain_command(rest, out);
    if (command == "validate") return validate_command(rest, out);
    return solve(args, out);
  });
}

}  // namespace headroom
