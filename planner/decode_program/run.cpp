#include "planner/decode_program/run.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "decoder/base/amounts.h"
#include "decoder/base/os/left_behind.h"
#include "decoder/base/printable.h"
#include "decoder/base/progress/progress.h"
#include "decoder/cli/prepare_outputs.h"
#include "decoder/cli/run_guard.h"
#include "decoder/files/latent_file.h"
#include "decoder/files/picture_sink.h"
#include "decoder/gpu/calls/open_gpu.h"
#include "decoder/gpu/memory/free_on_card.h"
#include "decoder/graph/model.h"
#include "decoder/latents/scale.h"
#include "decoder/plan/stats_file.h"
#include "decoder/session/environment.h"
#include "decoder/session/libraries.h"
#include "decoder/session/picture_shape.h"
#include "decoder/session/progress_events.h"
#include "decoder/session/session.h"
#include "decoder/session/trace_recorder.h"
#include "decoder/trace/trace_file.h"
#include "decoder/validator/validator.h"
#include "decoder/weights/open_model.h"
#include "decoder/weights/open_weights.h"
#include "decoder/weights/weights_hash.h"
#include "planner/decode_program/choose_plan.h"
#include "planner/decode_program/encode.h"
#include "planner/decode_program/notes.h"
#include "planner/decode_program/options.h"
#include "planner/decode_program/outputs.h"
#include "planner/decode_program/queue.h"
#include "planner/decode_program/ranks.h"
#include "planner/decode_program/verification.h"

namespace headroom {
namespace {

/// Base name for files beside the output. Drops the slash at the end of a folder.
std::filesystem::path neighbours_name(const std::string& output) {
  const std::filesystem::path path = output;
  return path.has_filename() ? path : path.parent_path();
}

/// Prepares the outputs' folders. Outputs of a queue are prepared after it has been read (queue.cpp).
MadeFolders prepare_files(const DecodeOptions& options) {
  std::vector<NamedFile> outputs = files_beside(options);
  if (options.queue_file.empty()) outputs.push_back({"-o", options.output, true});
  return prepare_outputs(outputs, files_read(options));
}

/// Decodes into `sink`. With --verify, a copy of the picture stays beside the output until the second decode
/// has been compared with it.
RunStats decode_once(const DecodeOptions& options, const DecodeJob& job, PictureSink& sink,
                     ProgressEvents& events, Progress& progress) {
  const auto run = [&](PictureSink& target) {
    RunStats stats = decode(job.model, job.plan, job.weights, job.latent, target,
                            {&events, [&](double share) { events.loading(share); }, job.gpu});
    target.finish();
    return stats;
  };
  if (!options.verify) return run(sink);
  const std::filesystem::path copy =
      neighbours_name(options.output).string() + ".verify-" + process_mark() + ".npy";
  const RemovedOnSignal on_signal(copy);
  const auto copy_sink = open_sink(copy, sink.shape());
  TeeSink both(sink, *copy_sink);
  RunStats stats = run(both);
  try {
    stats.verification = verify(job, copy, progress);
  } catch (...) {
    std::filesystem::remove(copy);
    throw;
  }
  std::filesystem::remove(copy);
  return stats;
}

RunStats run_plan(const DecodeOptions& options, DecodeJob& job, Progress& progress) {
  const Model& model = job.model;
  const Plan& plan = job.plan;
  const WeightsHash hash;
  job.weights = hash.over(open_weights(options.model, options.weights, options.random_seed));
  remove_left_behind(neighbours_name(options.output), "verify", ".npy");
  Outputs outputs(options, picture_shape(model.graph, plan.request));
  RunBegun news = begun("headroom-decode", plan);
  news.output = options.output;
  news.preview = options.preview_file;
  progress.tell(news);

  start_libraries(options.threads);
  if (!options.other_environment) {
    check_environment(plan, environment_here(job.gpu),
                      options.plan_file.empty() ? options.profile_file : options.plan_file);
  }
  std::optional<TraceRecorder> recorder;
  if (!options.trace_file.empty()) recorder.emplace();
  ProgressEvents events(progress, recorder ? &*recorder : nullptr, &model.graph);
  ReportedSink sink(outputs.first(), events);
  RunStats stats = decode_once(options, job, sink, events, progress);
  stats.output_wait_seconds += sink.waited_seconds();
  stats.weights_hash = hash.text();
  if (recorder)
    write_trace(options.trace_file, described(recorder->finish(), plan, stats), plan, model.graph);
  return stats;
}

/// Plans and decodes. Other processes may take GPU memory between planning and decoding. Then --limit auto
/// plans again, up to kPlans times in total. Any other limit fails with a message that names a smaller plan
/// that would fit.
RunStats run(const DecodeOptions& options, Notes& progress) {
  constexpr int kPlans = 3;
  // Open the GPU first, because nothing else is useful without it.
  std::unique_ptr<gpu::Gpu> gpu = gpu::open_gpu_for(options.device);
  const Model of_any_frames = open_model(options.model);
  progress.add(upcast_note(of_any_frames, options));
  const auto open = [&] { return open_weights(options.model, options.weights, options.random_seed); };
  GivenLatent given = open_latent(of_any_frames, open, options.latents.front(), options.latent_scale);
  progress.add(given.note);
  check_output(options.output, picture_shape(of_any_frames.graph, given.array));
  DecodeJob job{.model = {}, .plan = {}, .weights = {}, .latent = std::move(given.array)};
  for (int plans = 1;; ++plans) {
    if (options.plan_file.empty()) progress.tell(WorkDone{0, plans == 1 ? "planning" : "planning anew"});
    choose_plan(options, of_any_frames, gpu.get(), job);
    require_valid(job.plan, job.model, options.plan_file.empty() ? "--limit" : options.plan_file);
    if (!gpu) gpu = gpu::open_gpu_for(job.plan.request.device);
    job.gpu = gpu.get();
    try {
      return run_plan(options, job, progress);
    } catch (const OutOfGpuMemory& refused) {
      if (options.limit == "auto" && plans < kPlans) continue;
      throw DoesNotFit(
          std::string(refused.what()) + " (" + next_smaller_plan(options, of_any_frames, job, *gpu) + ")", 0);
    }
  }
}

RunStats run_queue(const DecodeOptions& options, Notes& progress) {
  QueueRun run{open_model(options.model),
               {},
               options.queue_file,
               options.output,
               options.latents,
               options.latent_scale,
               options.threads,
               options.frame_rate,
               options.quality,
               {},
               false,
               files_read(options),
               files_beside(options)};
  run.weights = open_weights(options.model, options.weights, options.random_seed);
  run.other_environment = options.other_environment;
  run.device = options.device;
  return decode_queue(run, progress);
}

/// Returns nullopt if another rank has the results.
std::optional<RunStats> run_any(const DecodeOptions& options, const std::optional<RankEnvironment>& rank,
                                Notes& progress) {
  if (rank) return run_ranks(options, *rank, progress);
  return options.queue_file.empty() ? run(options, progress) : run_queue(options, progress);
}

void print_ranks(const RunStats& stats, std::ostream& out) {
  for (size_t i = 0; i < stats.ranks.size(); ++i) {
    const RankStats& rank = stats.ranks[i];
    out << "rank " << i << ": latent rows " << rank.latent_rows.begin << " to " << rank.latent_rows.end
        << ", " << format_seconds(rank.seconds) << ", peak " << format_bytes(rank.peak_bytes)
        << " (predicted " << format_bytes(rank.predicted_peak_bytes) << ", limit "
        << format_bytes(rank.limit_bytes) << "), sent " << format_bytes(rank.sent_bytes) << "\n";
  }
}

void print_results(const DecodeOptions& options, const RunStats& stats, std::ostream& out) {
  if (options.json) {
    out << to_json(stats).dump(2) << "\n";
  } else if (stats.queue) {
    print_summary(stats, options.queue_file + ": " + std::to_string(stats.queue->decodes.size()) + " decodes",
                  out);
  } else {
    print_summary(stats, options.output, out);
    print_ranks(stats, out);
  }
}

}  // namespace

namespace {

int run_decodes(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
  std::unique_ptr<Progress> progress;
  RunEnded ended;
  ended.exit_code = guarded("headroom-decode", out, err, [&] {
    const std::optional<DecodeOptions> parsed = parse_decode_options(args, out);
    if (!parsed) return static_cast<int>(kDone);
    const DecodeOptions& options = *parsed;
    const MadeFolders for_files = prepare_files(options);
    const MadeFolders for_queue = make_output_folder(options.queue_file.empty() ? "" : options.output);
    progress = make_progress(options.progress, err);
    const std::optional<RankEnvironment> rank = rank_of(options);
    if (rank && rank->rank > 0) progress = make_progress({.quiet = true}, err);
    const WipedProgress wiped(*progress);
    Notes notes(*progress, err);
    const std::optional<RunStats> measured = run_any(options, rank, notes);
    if (!measured) return static_cast<int>(kDone);  // only rank 0 prints results
    notes.say();
    const RunStats& stats = *measured;
    if (!options.stats_file.empty()) write_stats(options.stats_file, stats);
    progress->wipe();
    print_results(options, stats,
                  message_stream({options.output, options.stats_file, options.trace_file}, out, err));
    ended.peak_bytes = stats.peak_bytes;
    ended.decode_seconds = stats.seconds;
    return static_cast<int>(kDone);
  });
  if (progress) progress->tell(ended);
  return ended.exit_code;
}

}  // namespace

int run_decode(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
  if (!args.empty() && args.front() == kEncode.name)
    return run_encode({args.begin() + 1, args.end()}, out, err);
  return run_decodes(args, out, err);
}

}  // namespace headroom
