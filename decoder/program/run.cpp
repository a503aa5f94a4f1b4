#include "decoder/program/run.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "decoder/cli/arguments.h"
#include "decoder/cli/run_guard.h"
#include "decoder/cpu/process_memory.h"
#include "decoder/files/frame_rate.h"
#include "decoder/files/latent_file.h"
#include "decoder/files/left_behind.h"
#include "decoder/files/picture_sink.h"
#include "decoder/files/preview_sink.h"
#include "decoder/gpu/calls/open_gpu.h"
#include "decoder/graph/amounts.h"
#include "decoder/graph/errors.h"
#include "decoder/graph/model.h"
#include "decoder/lowering/build_plan.h"
#include "decoder/plan/plan_file.h"
#include "decoder/plan/stats_file.h"
#include "decoder/program/latent_scale.h"
#include "decoder/program/parameter_source.h"
#include "decoder/program/plan_beside.h"
#include "decoder/program/progress_events.h"
#include "decoder/program/queue.h"
#include "decoder/program/verification.h"
#include "decoder/program/write_traces.h"
#include "decoder/progress/progress.h"
#include "decoder/session/decode.h"
#include "decoder/session/environment.h"
#include "decoder/session/trace_recorder.h"
#include "decoder/validator/validator.h"

namespace headroom {
namespace {

struct Options {
  std::string plan_file, limit, queue_file, profile_file, model, weights,
      latent_scale = "none", output, preview_file, stats_file, trace_file, chrome_file, scratch,
      scratch_limit;
  std::vector<std::string> latents;
  std::optional<uint64_t> random_seed;
  FrameRate frame_rate;
  int threads = 0;
  std::string dtype, device;
  bool verify = false, json = false, other_environment = false;
  ProgressOptions progress;
};

constexpr const char* kDescription =
    "Decode a latent into a picture inside a byte budget: the pixels of the untiled decode.\n\n"
    "Examples:\n"
    "  headroom-decode --plan plan.json --model vae/ --latent latent.safetensors -o picture.png\n"
    "  headroom-decode --limit 576MiB --model sdxl --random-weights 0 --latent latent.npy -o picture.npy "
    "--verify\n"
    "  headroom-decode --queue queue.json --model vae/ -o pictures/\n\n"
    "Exit codes: 0 done; 2 bad usage or input; 3 does not fit; 4 stopped before crossing the limit; 5 device "
    "failure.";

bool parse(const std::vector<std::string>& args, std::ostream& out, Options& options) {
  CLI::App app(kDescription, "headroom-decode");
  std::string frame_rate;
  auto* source = app.add_option_group("How", "one of");
  source->add_option("--plan", options.plan_file, "a plan file from headroom-plan");
  source->add_option("--limit", options.limit,
                     "plan now for this many bytes, weights included (2GiB, 512MiB, auto)");
  source->add_option("--queue", options.queue_file,
                     "a planned queue from headroom-plan queue: all its decodes, over one pool");
  source->require_option(1);
  app.add_option("--profile", options.profile_file, "with --limit: a profile of this machine to plan with");
  app.add_option("--dtype", options.dtype, std::string("with --limit: ") + kDtypeHelp);
  app.add_option("--device", options.device,
                 "cpu, or cuda for the first GPU; a plan's own, with --limit cpu by default");
  app.add_option("--model", options.model,
                 "folder with config.json, or a built-in name (such as sdxl, sana-dc-ae-f32c32, wan2.1)")
      ->required();
  auto* weights =
      app.add_option("--weights", options.weights,
                     "folder with diffusion_pytorch_model.safetensors; the model's folder by default");
  app.add_option("--random-weights", options.random_seed, "seeded random weights instead of files")
      ->excludes(weights);
  app.add_option("--latent", options.latents,
                 "latent: .npy or .safetensors[:key], float, NxCxHxW; with --queue one for each decode whose "
                 "request names none");
  app.add_option("--latent-scale", options.latent_scale,
                 "none: the decoder's own input; model: as pipelines hand it on, undo the config's scaling")
      ->check(CLI::IsMember({"none", "model"}));
  app.add_option(
      "-o,--output", options.output,
      "picture: .png, .npy or .safetensors; clip: .y4m, .npy, .safetensors, or a folder (frames/) "
      "for a .png of each frame; with --queue the folder for all outputs, the queue's own by default");
  app.add_option("--fps", frame_rate,
                 "frames per second of a .y4m: 25, or a ratio, 30000/1001; 24 by default");
  app.add_option("--preview", options.preview_file,
                 "keep a small copy of the picture, of a clip's first frame, up to date while it is decoded: "
                 ".ppm, at most 1024 pixels across");
  app.add_option("--scratch", options.scratch,
                 "folder on a disk for kept tensors that the plan puts there, instead of the plan's");
  app.add_option("--scratch-limit", options.scratch_limit, "the most bytes in that folder (20GiB)");
  app.add_option("--stats", options.stats_file, "write what was measured (JSON)");
  app.add_option("--trace", options.trace_file, "write allocations, passes and tiles as they were (JSON)");
  app.add_option("--chrome", options.chrome_file, "the same for chrome://tracing or Perfetto");
  app.add_option("--threads", options.threads, "threads to use; all by default")->check(CLI::Range(1, 4096));
  app.add_flag("--verify", options.verify, "decode again another way and compare");
  app.add_flag("--other-environment", options.other_environment,
               "run a plan whose costs were measured on another machine");
  app.add_flag("--json", options.json, "print the statistics as JSON on standard output");
  add_progress_options(app, options.progress);
  if (!parse_arguments(app, args, out)) return false;
  if (!frame_rate.empty()) options.frame_rate = parse_frame_rate(frame_rate, "--fps");
  if (!options.device.empty()) parse_device(options.device);
  if (!options.dtype.empty() && options.limit.empty())
    throw InputError("--dtype: goes with --limit; a plan has its own (try headroom-decode --help)");
  if (!options.queue_file.empty()) {
    for (const auto& [given, name] :
         {std::pair{options.verify, "--verify"}, std::pair{!options.preview_file.empty(), "--preview"}}) {
      if (given)
        throw InputError(
            std::string(name) +
            ": not with --queue; decode one of its plans by itself (try headroom-decode --help)");
    }
    return true;
  }
  if (options.latents.size() != 1) {
    throw InputError("--latent: expected one latent, found " + std::to_string(options.latents.size()) +
                     " (try headroom-decode --help)");
  }
  if (options.output.empty()) throw InputError("--output is required (try headroom-decode --help)");
  if (!frame_rate.empty() && std::filesystem::path(options.output).extension() != ".y4m")
    throw InputError("--fps: only an output in .y4m has a frame rate (try headroom-decode --help)");
  return true;
}

/// What the card has free, less a margin for what its libraries take when they first run.
std::string free_bytes_of(const gpu::Gpu& gpu) {
  constexpr int64_t kMargin = int64_t{512} << 20;
  return std::to_string(std::max<int64_t>(0, gpu.free_bytes() - kMargin));
}

Plan plan_for(const Options& options, const Model& model, const Array& latent, const gpu::Gpu* gpu) {
  const int64_t scratch_limit =
      options.scratch_limit.empty() ? 0 : parse_bytes(options.scratch_limit, "--scratch-limit");
  if (!options.plan_file.empty()) {
    Plan plan = read_plan(options.plan_file, model.graph);
    if (!options.scratch.empty()) plan.scratch_folder = options.scratch;
    if (!options.scratch_limit.empty()) plan.scratch_limit_bytes = scratch_limit;
    if (!options.device.empty() && parse_device(options.device) != plan.request.device) {
      throw InputError("--device: " + options.plan_file + " is a plan for " + name_of(plan.request.device) +
                       ", found " + options.device);
    }
    return plan;
  }
  if (latent.shape.size() < 4 || latent.shape.size() > 5) {
    throw InputError(options.latents.front() + ": expected a latent N×C×H×W or N×C×T×H×W");
  }
  const Axes<int32_t> scale = model.graph.tensor(model.graph.output()).scale;
  const int64_t frames = latent.shape.size() == 5 ? (latent.shape[2] - 1) * scale.t + 1 : 1;
  const int64_t height = latent.shape[latent.shape.size() - 2] * scale.y;
  const int64_t width = latent.shape.back() * scale.x;
  std::vector<std::string> words{
      "--model",  options.model,
      "--size",   std::to_string(width) + "x" + std::to_string(height),
      "--frames", std::to_string(frames),
      "--batch",  std::to_string(latent.shape[0]),
      "--limit",  gpu != nullptr && options.limit == "auto" ? free_bytes_of(*gpu) : options.limit};
  if (!options.dtype.empty()) words.insert(words.end(), {"--dtype", options.dtype});
  if (!options.profile_file.empty()) words.insert(words.end(), {"--profile", options.profile_file});
  if (!options.scratch.empty()) words.insert(words.end(), {"--scratch", options.scratch});
  if (!options.scratch_limit.empty()) words.insert(words.end(), {"--scratch-limit", options.scratch_limit});
  const nlohmann::json document =
      plan_from_program_beside(words, gpu != nullptr ? DeviceKind::cuda : DeviceKind::cpu);
  return plan_from_json(JsonFields(document, "headroom-plan"), model.graph);
}

/// The output as files beside it are named after it: a folder without the slash at its end.
std::filesystem::path neighbours_name(const std::string& output) {
  const std::filesystem::path path = output;
  return path.has_filename() ? path : path.parent_path();
}

/// Decodes the same latent untiled where the machine has the memory, otherwise by another plan.
Verification verify(const Model& model, const Plan& plan, const ParameterSource& weights, const Array& latent,
                    const std::filesystem::path& decoded, const PictureShape& shape, gpu::Gpu* gpu,
                    Progress& progress) {
  ComparingSink comparison(decoded, shape);
  ProgressEvents events(progress);
  const int64_t free_bytes = gpu != nullptr ? gpu->free_bytes() : available_bytes();
  const auto with_room = [&](Plan other) {
    // Its places on a GPU have gaps of their own.
    if (gpu != nullptr) other.limit_bytes = free_bytes;
    return other;
  };
  Plan reference = with_room(untiled_plan(model, plan.request));
  // What the library takes beside the tiles is not in this figure: half as much again is ample. On a GPU
  // tiles may be too large for its libraries as well.
  const bool untiled_fits = reference.predicted_peak_bytes * 3 / 2 < free_bytes &&
                            (gpu == nullptr || validate(reference, model).empty());
  if (!untiled_fits) reference = with_room(with_halved_tiles(model, plan, {}));
  const std::string compared_with =
      untiled_fits
          ? "the untiled decode"
          : "another plan under the same limit (tiles half as high); untiled would not fit this machine";
  progress.tell(VerificationStarted{compared_with});
  decode(model, reference, weights, latent, comparison, &events, {}, gpu);
  comparison.finish();
  return comparison.result(compared_with);
}

void print_summary(const RunStats& stats, const std::string& output, std::ostream& out) {
  out << output << ": " << format_seconds(stats.seconds) << ", peak " << format_bytes(stats.peak_bytes)
      << " (predicted " << format_bytes(stats.predicted_peak_bytes) << ", limit "
      << format_bytes(stats.limit_bytes) << "), resident growth " << format_bytes(stats.rss_growth_bytes)
      << "\n";
  if (const auto& v = stats.verification) {
    out << "compared with " << v->compared_with << ": largest error " << v->largest_error << " ("
        << v->largest_error_relative << " of the largest magnitude " << v->reference_magnitude << "), PSNR "
        << v->psnr_db << " dB\n";
  }
}

RunStats run(const Options& options, Progress& progress) {
  // First of all: without a GPU nothing else is worth doing.
  std::unique_ptr<gpu::Gpu> gpu;
  if (options.device == "cuda") gpu = gpu::open_gpu();
  const Model model = resolve_model(options.model);
  Array latent = read_latent(options.latents.front());
  if (options.latent_scale == "model") undo_latent_scale(model, latent);
  if (options.plan_file.empty()) progress.tell(WorkDone{0, "planning"});
  const Plan plan = plan_for(options, model, latent, gpu.get());
  require_valid(plan, model, options.plan_file.empty() ? "headroom-plan" : options.plan_file);
  if (plan.request.device == DeviceKind::cuda && !gpu) gpu = gpu::open_gpu();

  const ParameterSource weights = parameter_source(options.model, options.weights, options.random_seed);
  const PictureShape shape{plan.request.batch, model.graph.tensor(model.graph.output()).channels,
                           plan.request.frames, plan.request.height_pixels, plan.request.width_pixels};
  const std::filesystem::path beside = neighbours_name(options.output);
  remove_left_behind(beside, "verify");
  const auto output = open_sink(options.output, shape, options.frame_rate);
  std::optional<PreviewSink> preview;
  if (!options.preview_file.empty()) preview.emplace(*output, options.preview_file);
  PictureSink& shown = preview ? static_cast<PictureSink&>(*preview) : *output;
  RunBegun news = begun("headroom-decode", plan);
  news.output = options.output;
  news.preview = options.preview_file;
  progress.tell(news);

  start_libraries(options.threads);
  if (!options.other_environment) {
    check_environment(plan, environment_here(gpu.get()),
                      options.plan_file.empty() ? options.profile_file : options.plan_file);
  }
  RunStats stats;
  std::optional<TraceRecorder> recorder;
  if (!options.trace_file.empty() || !options.chrome_file.empty()) recorder.emplace();
  ProgressEvents events(progress, recorder ? &*recorder : nullptr);
  ReportedSink sink(shown, events);
  const auto loading = [&](double share) { events.loading(share); };
  if (options.verify) {
    const std::filesystem::path copy = beside.string() + ".verify-" + std::to_string(getpid()) + ".npy";
    const RemovedOnSignal on_signal(copy);
    const auto copy_sink = open_sink(copy, shape);
    TeeSink both(sink, *copy_sink);
    stats = decode(model, plan, weights, latent, both, &events, loading, gpu.get());
    both.finish();
    try {
      stats.verification = verify(model, plan, weights, latent, copy, shape, gpu.get(), progress);
    } catch (...) {
      std::filesystem::remove(copy);
      throw;
    }
    std::filesystem::remove(copy);
  } else {
    stats = decode(model, plan, weights, latent, sink, &events, loading, gpu.get());
    sink.finish();
  }
  if (recorder) write_traces(recorder->finish(), plan, model, stats, options.trace_file, options.chrome_file);
  return stats;
}

RunStats run_queue(const Options& options, Progress& progress) {
  QueueRun run{resolve_model(options.model),
               {},
               options.queue_file,
               options.output,
               options.latents,
               options.latent_scale,
               options.threads,
               options.frame_rate,
               {}};
  run.weights = parameter_source(options.model, options.weights, options.random_seed);
  run.other_environment = options.other_environment;
  if (!options.device.empty()) run.device = parse_device(options.device);
  return decode_queue(run, progress);
}

void print_results(const Options& options, const RunStats& stats, std::ostream& out) {
  if (options.json) {
    out << to_json(stats).dump(2) << "\n";
  } else if (stats.queue) {
    print_summary(stats, options.queue_file + ": " + std::to_string(stats.queue->decodes.size()) + " decodes",
                  out);
  } else {
    print_summary(stats, options.output, out);
  }
}

}  // namespace

int run_decode(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
  std::unique_ptr<Progress> progress;
  RunEnded ended;
  ended.exit_code = guarded("headroom-decode", err, [&] {
    Options options;
    if (!parse(args, out, options)) return static_cast<int>(kDone);
    progress = make_progress(options.progress, err);
    const WipedProgress wiped(*progress);
    const RunStats stats =
        options.queue_file.empty() ? run(options, *progress) : run_queue(options, *progress);
    if (!options.stats_file.empty()) write_stats(options.stats_file, stats);
    progress->wipe();
    print_results(options, stats, out);
    ended.peak_bytes = stats.peak_bytes;
    ended.decode_seconds = stats.seconds;
    return static_cast<int>(kDone);
  });
  if (progress) progress->tell(ended);
  return ended.exit_code;
}

}  // namespace headroom
