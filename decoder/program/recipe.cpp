#include "decoder/program/recipe.h"

#include "decoder/gpu/calls/open_gpu.h"
#include "decoder/graph/errors.h"
#include "decoder/plan/plan_file.h"
#include "decoder/program/choose_plan.h"
#include "decoder/program/latent_scale.h"
#include "decoder/program/outputs.h"
#include "decoder/session/environment.h"
#include "decoder/session/libraries.h"
#include "decoder/session/picture_shape.h"
#include "decoder/session/progress_events.h"
#include "decoder/session/recipe_run.h"
#include "decoder/validator/recipe_validator.h"
#include "decoder/weights/open_model.h"
#include "decoder/weights/open_weights.h"

namespace headroom {
namespace {

RunBegun begun_by(const RecipePlan& plan, const DecodeOptions& options) {
  RunBegun news;
  news.program = "headroom-decode";
  news.model = plan.request.model;
  news.output = options.output;
  news.preview = options.preview_file;
  news.limit_bytes = plan.limit_bytes;
  news.predicted_peak_bytes = plan.predicted_peak_bytes;
  news.predicted_seconds = plan.predicted_seconds;
  news.width_pixels = plan.request.width_pixels;
  news.height_pixels = plan.request.height_pixels;
  news.batch = plan.request.batch;
  return news;
}

}  // namespace

bool has_recipe(const DecodeOptions& options) {
  if (!options.recipe.empty()) return true;
  return !options.plan_file.empty() && PlanFile(options.plan_file).has_recipe();
}

RunStats run_recipe(const DecodeOptions& options, Notes& progress) {
  // What is written of one decode is not written of many tiles.
  refuse_given({{options.verify, "--verify"},
                {!options.trace_file.empty(), "--trace"},
                {!options.chrome_file.empty(), "--chrome"}},
               "not of a plan with a recipe, whose tiles are decodes of their own");
  std::unique_ptr<gpu::Gpu> gpu;
  if (options.device == "cuda") gpu = gpu::open_gpu();
  const Model any_frames = open_model(options.model);
  progress.add(upcast_note(any_frames, options));
  const auto open = [&] { return open_weights(options.model, options.weights, options.random_seed); };
  const auto [latent, note] = open_latent(any_frames, open, options.latents.front(), options.latent_scale);
  progress.add(note);
  if (options.plan_file.empty()) progress.tell(WorkDone{0, "planning"});
  const ChosenRecipe chosen = choose_recipe(options, any_frames, latent, gpu.get());
  const auto& [model, plan] = chosen;
  require_valid(plan, model, options.plan_file.empty() ? "headroom-plan" : options.plan_file);
  if (plan.request.device == DeviceKind::cuda && !gpu) gpu = gpu::open_gpu();
  const ParameterSource weights = open();
  Outputs outputs(options, picture_shape(model.graph, plan.request));
  progress.tell(begun_by(plan, options));

  start_libraries(options.threads);
  for (const Plan& tile : plan.plans) {
    if (!options.other_environment)
      check_environment(tile, environment_here(gpu.get()),
                        options.plan_file.empty() ? options.profile_file : options.plan_file);
  }
  ProgressEvents events(progress, nullptr, &model.graph);
  ReportedSink sink(outputs.first(), events);
  RunStats stats = decode(model, plan, weights, latent, sink,
                          {&events, [&](double share) { events.loading(share); },
                           [&](double begin, double end) { events.start_part(begin, end); }, gpu.get()});
  sink.finish();
  stats.output_wait_seconds += sink.waited_seconds();
  return stats;
}

}  // namespace headroom
