#include "decoder/program/ranks.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "decoder/exchange/agreement.h"
#include "decoder/exchange/open_exchange.h"
#include "decoder/files/latent_file.h"
#include "decoder/graph/errors.h"
#include "decoder/graph/parameters.h"
#include "decoder/plan/plan_file.h"
#include "decoder/plan/ranked_plan_file.h"
#include "decoder/program/choose_plan.h"
#include "decoder/program/latent_scale.h"
#include "decoder/program/outputs.h"
#include "decoder/session/environment.h"
#include "decoder/session/libraries.h"
#include "decoder/session/picture_shape.h"
#include "decoder/session/progress_events.h"
#include "decoder/session/ranked_run.h"
#include "decoder/validator/ranked_validator.h"
#include "decoder/weights/open_weights.h"

namespace headroom {
namespace {

std::string_view bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

/// The first values of every parameter: other weights differ in these.
uint64_t fingerprint_of(const Graph& graph, const ParameterSource& weights) {
  constexpr int64_t kValues = 64;
  uint64_t print = fingerprint("");
  for (const Op& op : graph.ops()) {
    for (const Parameter& parameter : parameters_of(graph, op)) {
      int64_t count = 1;
      for (int64_t length : parameter.shape) count *= length;
      std::vector<float> values(static_cast<size_t>(std::min(count, kValues)));
      weights(parameter, {0, static_cast<int64_t>(values.size())}, values.data());
      print = fingerprint(bytes_of(values), print);
    }
  }
  return print;
}

/// What must be the same on all ranks, before anything is decoded.
void agree_on(Exchange& exchange, const DecodeOptions& options, const ChosenRanks& chosen,
              const Array& latent, const ParameterSource& weights) {
  const std::string weights_name = options.random_seed
                                       ? "seed " + std::to_string(*options.random_seed)
                                       : (options.weights.empty() ? options.model : options.weights);
  agree(exchange, {{"plan", to_json(chosen.plan, chosen.model.graph).dump(), options.plan_file},
                   {"latent", std::string(bytes_of(latent.values)), options.latents.front()},
                   {"weights", std::to_string(fingerprint_of(chosen.model.graph, weights)), weights_name}});
}

RunStats run_rank(const DecodeOptions& options, const RankEnvironment& environment, Exchange& exchange,
                  Progress& progress) {
  const Model any_frames = resolve_model(options.model);
  Array latent = read_latent(options.latents.front());
  const auto open = [&] { return open_weights(options.model, options.weights, options.random_seed); };
  if (options.latent_scale == "model") undo_latent_scale(any_frames, open, latent);
  if (options.plan_file.empty()) progress.tell(WorkDone{0, "planning"});
  const ChosenRanks chosen = choose_ranks(options, any_frames, latent, environment.ranks);
  const auto& [model, plan] = chosen;
  if (static_cast<int32_t>(plan.plans.size()) != environment.ranks) {
    throw InputError(options.plan_file + ": expected a plan for the " + std::to_string(environment.ranks) +
                     " ranks that " + environment.launcher + " started, found one for " +
                     std::to_string(plan.plans.size()));
  }
  require_valid(plan, model, options.plan_file.empty() ? "headroom-plan" : options.plan_file);
  const Plan& own = plan.plans[static_cast<size_t>(environment.rank)];
  check_latent(model, own, latent);
  const ParameterSource weights = open();
  agree_on(exchange, options, chosen, latent, weights);

  const bool writes = environment.rank == 0;
  std::optional<Outputs> outputs;
  if (writes) outputs.emplace(options, picture_shape(model.graph, plan.request));
  if (writes) {
    RunBegun news = begun("headroom-decode", own);
    news.output = options.output;
    news.preview = options.preview_file;
    progress.tell(news);
  }
  start_libraries(options.threads);
  if (!options.other_environment)
    check_environment(own, environment_here(nullptr),
                      options.plan_file.empty() ? options.profile_file : options.plan_file);
  ProgressEvents events(progress);
  std::optional<ReportedSink> sink;
  if (writes) sink.emplace(outputs->first(), events);
  RankedHooks hooks{&events, [&](double share) { events.loading(share); }};
  hooks.spool_folder = options.scratch.empty() ? std::filesystem::temp_directory_path()
                                               : std::filesystem::path(options.scratch);
  RunStats stats = decode(model, plan, weights, latent, sink ? &*sink : nullptr, exchange, hooks);
  if (sink) stats.output_wait_seconds += sink->waited_seconds();
  return stats;
}

}  // namespace

std::optional<RankEnvironment> rank_of(const DecodeOptions& options) {
  if (!options.queue_file.empty()) return std::nullopt;
  const bool planned = !options.plan_file.empty();
  const bool for_ranks = planned && PlanFile(options.plan_file).has_ranks();
  if (planned && !for_ranks) return std::nullopt;
  std::optional<RankEnvironment> environment = rank_environment();
  if (for_ranks && !environment) {
    throw InputError(options.plan_file +
                     ": a plan for several ranks; start as many (torchrun --no-python --nproc-per-node N "
                     "headroom-decode …, or srun, or mpirun)");
  }
  if (environment && environment->ranks == 1 && !for_ranks) return std::nullopt;
  return environment;
}

std::optional<RunStats> run_ranks(const DecodeOptions& options, const RankEnvironment& environment,
                                  Progress& progress) {
  refuse_given({{options.verify, "--verify"},
                {!options.recipe.empty(), "--recipe"},
                {!options.scratch_limit.empty(), "--scratch-limit"},
                {!options.trace_file.empty(), "--trace"},
                {!options.chrome_file.empty(), "--chrome"}},
               "not where several ranks decode");
  ExchangeOptions how;
  how.ranks = environment;
  how.timeout_seconds = options.rank_timeout_seconds;
  const std::unique_ptr<Exchange> exchange = open_exchange(how);
  try {
    const RunStats stats = run_rank(options, environment, *exchange, progress);
    if (environment.rank == 0) return stats;
    return std::nullopt;
  } catch (const std::exception& error) {
    exchange->abandon(error.what());
    throw;
  }
}

}  // namespace headroom
