#include "profiler/program/run.h"

#include <algorithm>
#include <filesystem>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <optional>

#include "decoder/base/amounts.h"
#include "decoder/base/errors.h"
#include "decoder/base/os/whole_file.h"
#include "decoder/base/progress/progress.h"
#include "decoder/base/short_name.h"
#include "decoder/base/text.h"
#include "decoder/cli/arguments.h"
#include "decoder/cli/prepare_outputs.h"
#include "decoder/cli/run_guard.h"
#include "decoder/cpu/threads.h"
#include "decoder/devices/device_name.h"
#include "decoder/families/built_in_models.h"
#include "decoder/files/latent_file.h"
#include "decoder/gpu/calls/open_gpu.h"
#include "decoder/plan/plan_file.h"
#include "decoder/plan/sizes.h"
#include "decoder/plan/stats_file.h"
#include "decoder/session/environment.h"
#include "decoder/session/session.h"
#include "decoder/weights/open_model.h"
#include "profiler/measure/collect.h"
#include "profiler/profile/profile_file.h"
#include "profiler/program/link_command.h"
#include "profiler/program/profile_precision.h"
#include "profiler/program/record_plan.h"
#include "profiler/program/time_engines.h"

namespace headroom::profiler {
namespace {

constexpr const char* kQuickSize = "256x256";

struct Options {
  std::string plan, latent, trace, engines, watch = "all", model, weights, sizes, scratch, output, csv,
                                            dtype = "fp32", tf32, direction = "decode";
  std::optional<DeviceName> device;  ///< unset: the CPU, or the device of the plan
  std::optional<uint64_t> random_seed;
  int64_t frames = 1;
  int64_t batch = 1;
  int threads = 0, repeats = 1;
  bool json = false, quick = false, accept_noise = false;
  bool of_request = false;  ///< true if an option was given that a plan has itself
  ProgressOptions progress;
};

std::vector<Command> profile_commands() {
  return {{"link", "measure what messages between neighbouring ranks take, for headroom-plan --link"}};
}

std::string profile_description() {
  return "Measure how long this machine takes for each layer of a decoder or encoder, and how much memory "
         "each "
         "layer\n"
         "needs, untiled, at several sizes. With the profile, headroom-plan predicts this machine's "
         "times.\n\n"
         "Example:\n"
         "  headroom-profile --model sdxl --sizes 256x256,512x512 -o profile.json --csv layers.csv\n"
         "  headroom-profile --model sdxl --direction encode --quick -o encoder.json\n"
         "  headroom-profile --plan plan.json --model sdxl --random-weights 0 -o trace.json\n"
         "  torchrun --no-python --nproc-per-node 4 headroom-profile link\n\n" +
         commands_help(profile_commands());
}

bool parse(const std::vector<std::string>& args, std::ostream& out, Options& options) {
  CLI::App app(profile_description(), "headroom-profile");
  app.add_option("--model", options.model, kModelHelp)->required();
  auto* weights =
      app.add_option("--weights", options.weights,
                     "folder with diffusion_pytorch_model.safetensors; the model's folder by default");
  app.add_option("--random-weights", options.random_seed,
                 "seeded random weights; the default for built-in models (costs do not depend on values)")
      ->excludes(weights);
  std::string device;
  app.add_option(
      "--device", device,
      std::string("device to measure: ") + kDeviceNameHelp + "cpu by default, with --plan the plan's own");
  app.add_option("--direction", options.direction, kDirectionHelp)
      ->check(CLI::IsMember({"decode", "encode"}));
  app.add_option("--dtype", options.dtype, kDtypeHelp);
  app.add_flag("--tf32", options.tf32, kTf32Help);
  app.add_option("--sizes", options.sizes, "picture sizes in pixels, WIDTHxHEIGHT,…");
  app.add_option("--plan", options.plan, "run this plan instead and record allocations, passes and tiles");
  app.add_option("--latent", options.latent,
                 "with --plan: .npy or .safetensors[:key]; seeded random by default");
  app.add_option("--trace", options.trace, "with --plan: write the record; the same as -o");
  app.add_option("--watch", options.watch,
                 "with a --plan for cuda: what to record beside the decode: all, none, or some of allocator, "
                 "kernels, copies, memory, pools, calls");
  app.add_option("--engines", options.engines,
                 "with a --plan for cuda: time cuDNN's engines for each convolution of the plan, and add the "
                 "fastest ones to this profile");
  app.add_option("--scratch", options.scratch,
                 "also measure how fast files in this folder are (512 MiB), for plans with --scratch");
  app.add_option("--frames", options.frames, "frames of a clip; 1 for pictures")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000}));
  app.add_option("--batch", options.batch, "pictures in the latent")
      ->check(CLI::Range(int64_t{1}, int64_t{4096}));
  app.add_option("--repeats", options.repeats, "decodes of each size; the fastest time of each layer counts")
      ->check(CLI::Range(1, 100));
  app.add_flag("--quick", options.quick,
               "a coarse profile in about ten seconds: half of the tile sizes, 256x256 by default");
  app.add_flag("--accept-noise", options.accept_noise,
               "write the profile even if the machine was too busy; predicted times are less certain");
  app.add_option("--threads", options.threads, "threads to use; all by default")->check(CLI::Range(1, 4096));
  app.add_option("-o,--output", options.output, "write the profile; with --plan the record");
  app.add_option("--csv", options.csv, "write the layers as a table");
  app.add_flag("--json", options.json, "print the profile on standard output");
  add_progress_options(app, options.progress);
  if (!parse_arguments(app, args, out)) return false;
  if (!device.empty()) options.device = parse_device_name(device);
  options.of_request = app.count("--frames") + app.count("--batch") + app.count("--dtype") +
                           app.count("--tf32") + app.count("--direction") + app.count("--repeats") >
                       0;
  return true;
}

double median_error(const Profile& profile) {
  std::vector<double> errors;
  for (const LatencyTable& latency_table : profile.latency_tables)
    errors.push_back(latency_table.held_out_error);
  std::sort(errors.begin(), errors.end());
  return errors.empty() ? 0 : errors[errors.size() / 2];
}

void print_summary(const Profile& profile, const std::string& output, std::ostream& out) {
  for (const ProfiledSize& size : profile.sizes) {
    out << size.width_pixels << "x" << size.height_pixels << ": " << format_seconds(size.seconds)
        << ", untiled peak " << format_bytes(size.peak_bytes) << " at " << short_name(size.peak_layer)
        << "; live then:";
    for (size_t i = 0; i < std::min<size_t>(size.peak_live.size(), 4); ++i) {
      out << (i ? ", " : " ") << short_name(size.peak_live[i].name) << " "
          << format_bytes(size.peak_live[i].bytes);
    }
    out << "\n";
  }
  out << one_line(output) << ": " << one_line(profile.model) << " in " << name_of(profile.dtype) << ", "
      << profile.layers.size() << " layers at " << profile.sizes.size() << " sizes, "
      << profile.latency_tables.size() << " latency tables, median interpolation error "
      << std::setprecision(2) << 100 * median_error(profile) << " %; weights at "
      << format_bytes(static_cast<int64_t>(profile.weights_bytes_per_second)) << "/s ("
      << profile.weights_source << ")\n";
  print_precision(profile, out);
}

/// Checks the output files before long work begins.
MadeFolders prepare_files(const Options& options) {
  return prepare_outputs({{"-o", options.output},
                          {"--csv", options.csv},
                          {"--trace", options.trace},
                          {"--engines", options.engines},
                          {"--json", options.json ? "-" : ""}},
                         {{"--plan", options.plan},
                          {"--model", options.model},
                          {"--weights", options.weights},
                          {"--latent", latent_file_of(options.latent)}});
}

void needs(bool given, const char* what) {
  if (!given) throw InputError(std::string(what) + " (see headroom-profile --help)");
}

/// Checks combinations of options that the parser cannot.
void check_options(const Options& options) {
  if (options.plan.empty()) {
    // The profile stores the model's name. dump() throws if the name is not UTF-8.
    static_cast<void>(nlohmann::json(options.model).dump());
    needs(!options.sizes.empty() || options.quick, "--sizes is required, or --quick, or --plan");
    needs(!options.output.empty(), "--output is required");
    needs(options.latent.empty(), "--latent goes with --plan");
    needs(options.trace.empty() && options.engines.empty() && options.watch == "all",
          "--trace, --engines and --watch go with --plan");
  } else {
    needs(options.sizes.empty() && options.csv.empty() && options.scratch.empty() && !options.quick &&
              !options.accept_noise,
          "--sizes, --csv, --scratch, --quick and --accept-noise do not go with --plan");
    needs(!options.of_request,
          "--frames, --batch, --dtype, --tf32, --direction and --repeats do not go with --plan, which has "
          "its own");
    needs(options.output.empty() || options.trace.empty(),
          "with --plan, -o and --trace mean the same: expected one of them");
    if (!options.engines.empty()) {
      needs(options.output.empty() && options.trace.empty() && options.latent.empty() && !options.json &&
                options.watch == "all",
            "--engines does not go with --output, --trace, --latent, --watch and --json");
      return;
    }
    needs(!options.output.empty() || !options.trace.empty(), "--plan needs --output or --engines");
  }
}

RecordRequest record_request(const Options& options) {
  return {.plan_file = options.plan,
          .latent = options.latent,
          .trace_file = options.output.empty() ? options.trace : options.output,
          .device = options.device,
          .watching = parse_watching(options.watch, "--watch"),
          .threads = options.threads};
}

/// With --plan: runs the plan and writes the record.
RunEnded record(const Options& options, const Model& model, std::optional<uint64_t> seed, Progress& progress,
                std::ostream& out, std::ostream& err) {
  const RecordRequest request = record_request(options);
  const ParameterSource weights = open_weights(options.model, options.weights, seed);
  const Recorded recorded = record_plan(model, request, weights, progress);
  const RunStats& stats = recorded.stats;
  progress.wipe();
  for (const std::string& line : recorded.warnings)
    err << "headroom-profile: warning: " << printable(line) << "\n";
  if (options.json) {
    out << to_json(stats).dump(2) << "\n";
  } else {
    out << options.plan << ": " << stats.dtype << ", " << format_seconds(stats.seconds) << " (predicted "
        << format_seconds(stats.predicted_seconds) << "), peak " << format_bytes(stats.peak_bytes)
        << " (predicted " << format_bytes(stats.predicted_peak_bytes) << ")\n";
  }
  return {kDone, stats.peak_bytes, stats.seconds};
}

Tf32 asked_tf32(const Options& options, Dtype dtype) {
  Request request;
  request.dtype = dtype;
  request.device = options.device.value_or(DeviceName{}).kind;
  set_tf32(request, options.tf32);
  return request.tf32;
}

Profile measure(const Options& options, const Model& model, std::optional<uint64_t> seed, gpu::Gpu* gpu,
                Progress& progress) {
  ProfileRequest request;
  request.model = options.model;
  request.sizes = parse_sizes(options.sizes.empty() ? kQuickSize : options.sizes, "--sizes");
  request.frames = options.frames;
  request.batch = options.batch;
  request.repeats = options.repeats;
  request.coarse = options.quick;
  request.dtype = decoding_dtype(model, parse_dtype(options.dtype, "--dtype"));
  request.tf32 = asked_tf32(options, request.dtype);
  request.scratch_folder = options.scratch;
  if (gpu != nullptr && !options.scratch.empty())
    throw InputError("--scratch: plans for cuda keep nothing in files");
  for (const auto& [width, height] : request.sizes) latent_extent(model, width, height, options.frames);
  const ParameterSource weights = open_weights(options.model, options.weights, seed);
  request.weights_source = seed ? "random" : "files";
  RunBegun news;
  news.program = "headroom-profile";
  news.model = options.model;
  news.output = options.output;
  news.batch = options.batch;
  progress.tell(news);

  start_libraries(options.threads);
  Profile profile = collect_profile(
      model, request, weights,
      [&](double share, double left, const std::string& what) {
        progress.tell(WorkDone{std::clamp(share, 0.0, 1.0), what, left});
      },
      gpu);
  if (!options.accept_noise) require_precise(profile);
  write_file_whole(options.output, to_json(profile).dump(1) + "\n");
  if (!options.csv.empty()) write_file_whole(options.csv, layers_csv(profile));
  return profile;
}

/// The decoder or encoder to measure, or that of the plan.
Model profiled_model(const Options& options) {
  if (!options.plan.empty()) return model_for(open_model(options.model), PlanFile(options.plan).request());
  Request request;
  request.direction = parse_direction(options.direction);
  request.frames = options.frames;
  return model_for(open_model(options.model), request);
}

/// Prints only after the progress line is cleared.
RunEnded run(const Options& options, Progress& progress, std::ostream& out, std::ostream& err) {
  check_options(options);
  const MadeFolders folders = prepare_files(options);
  std::ostream& said = message_stream({options.output, options.csv, options.trace}, out, err);
  // Opens the GPU first, since without it the command fails. A recorded plan opens its own device, after its
  // watcher exists.
  std::unique_ptr<gpu::Gpu> gpu;
  if (options.plan.empty()) gpu = gpu::open_gpu_for(options.device);
  const Model model = profiled_model(options);
  std::optional<uint64_t> seed = options.random_seed;
  if (options.weights.empty() && built_in_config(model.config_file) != nullptr) seed = seed.value_or(0);
  if (!options.engines.empty()) {
    time_engines(model, {options.plan, options.engines, options.device},
                 open_weights(options.model, options.weights, seed), progress, said);
    return {};
  }
  if (!options.plan.empty()) return record(options, model, seed, progress, said, err);
  const Profile profile = measure(options, model, seed, gpu.get(), progress);
  progress.wipe();
  if (options.json) {
    out << to_json(profile).dump(2) << "\n";
  } else {
    print_summary(profile, options.output, said);
  }
  return {};
}

}  // namespace

int run_profile(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
  std::unique_ptr<Progress> progress;
  RunEnded ended;
  ended.exit_code = guarded("headroom-profile", out, err, [&] {
    if (command_of(args, profile_commands()) == "link")
      return run_link({args.begin() + 1, args.end()}, out, err);
    Options options;
    if (!parse(args, out, options)) return static_cast<int>(kDone);
    progress = make_progress(options.progress, err);
    const WipedProgress wiped(*progress);
    ended = run(options, *progress, out, err);
    return static_cast<int>(kDone);
  });
  if (progress) progress->tell(ended);
  return ended.exit_code;
}

}  // namespace headroom::profiler
