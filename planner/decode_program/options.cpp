#include "planner/decode_program/options.h"

#include <filesystem>

#include "decoder/base/errors.h"
#include "decoder/base/os/output_target.h"
#include "decoder/base/os/standard_streams.h"
#include "decoder/base/text.h"
#include "decoder/cli/arguments.h"
#include "decoder/exchange/open_exchange.h"
#include "decoder/files/latent_file.h"
#include "decoder/files/output_format.h"
#include "decoder/plan/plan.h"

namespace headroom {

namespace {

constexpr const char* kSummary =
    "Decode a latent into a picture within a memory limit. The picture is that of the untiled decode.\n\n"
    "Examples:\n"
    "  headroom-decode --limit 2GiB --model vae/ --latent latent.safetensors -o picture.png\n"
    "  headroom-decode --plan plan.json --model vae/ --latent latent.safetensors -o picture.png --verify\n"
    "  headroom-decode --queue queue.json --model vae/ -o pictures/\n"
    "  torchrun --no-python --nproc-per-node 4 headroom-decode --limit 2GiB --model vae/ --latent l.npy -o "
    "p.png\n"
    "  headroom-decode encode --limit 2GiB --model vae/ --picture photo.png -o latent.safetensors\n\n";
constexpr const char* kExitCodes =
    "\n"
    "Exit codes: 0 done; 2 bad usage or input; 3 does not fit; 4 stopped before crossing the limit; 5 device "
    "failure.";

void add_plan_options(CLI::App& app, DecodeOptions& options, std::string& device) {
  app.add_option(
      "--limit", options.limit,
      "most memory, weights included: 2GiB, 512MiB, or auto for the free memory; plans the decode now");
  app.add_option("--plan", options.plan_file,
                 "instead of --limit: a plan file from headroom-plan. One of --limit, --plan and --queue is "
                 "required");
  app.add_option("--queue", options.queue_file,
                 "instead of --limit: a queue from headroom-plan queue; runs all its decodes");
  app.add_option("--dtype", options.dtype, std::string("with --limit: ") + kDtypeHelp + " (default: fp32)");
  app.add_option("--device", device,
                 std::string(kDeviceNameHelp) + "cpu by default, with --plan and --queue the plan's own");
  app.add_flag("--tf32", options.tf32, std::string("with --limit: ") + kTf32Help);
  app.add_option("--scratch", options.scratch,
                 "folder on a disk for the scratch file of kept tensors; by default the plan's folder");
  app.add_option("--scratch-limit", options.scratch_limit,
                 "most bytes of the scratch file, such as 20GiB; by default the plan's");
  app.add_option("--profile", options.profile_file,
                 "with --limit: plan with this machine's profile, from headroom-profile");
  app.add_flag("--other-environment", options.other_environment,
               "run a plan whose costs were measured on another machine");
}

/// Options of every command: the model and its weights.
void add_model_options(CLI::App& app, SharedOptions& options) {
  app.add_option("--model", options.model, kModelHelp)->required();
  auto* weights = app.add_option(
      "--weights", options.weights,
      "folder with diffusion_pytorch_model.safetensors, or a .safetensors file, also with an original "
      "checkpoint's names; the model's folder by default");
  app.add_option("--random-weights", options.random_seed, "seeded random weights instead of files")
      ->excludes(weights);
}

void add_input_options(CLI::App& app, DecodeOptions& options) {
  add_model_options(app, options);
  app.add_option("--latent", options.latents,
                 "latent: .npy, .safetensors[:key], .pt[:key] or ComfyUI's .latent; floats, NxCxHxW, CxHxW "
                 "or for clips NxCxTxHxW; "
                 "with --queue one for each decode whose request names none");
  app.add_option("--latent-scale", options.latent_scale,
                 "model: undo the scaling of a pipeline's latent; none: decode the latent as it is; auto: "
                 "detect from the latent's values; if in doubt, as with model")
      ->check(CLI::IsMember({"auto", "model", "none"}));
}

void add_output_options(CLI::App& app, DecodeOptions& options, std::string& frame_rate) {
  app.add_option("-o,--output", options.output,
                 "picture: .png, .jpg, .webp, .npy or .safetensors; clip: .y4m, .npy, .safetensors, or a "
                 "folder (frames/) for a .png of each frame; - for standard output, as .png or .y4m; with "
                 "--queue the folder for all outputs, the queue's own by default");
  app.add_option("--fps", frame_rate,
                 "frames per second of a .y4m: 25, or a ratio such as 30000/1001; 24 by default");
  app.add_option("--quality", options.quality, "of a .jpg or .webp, 1 to 100")->check(CLI::Range(1, 100));
  app.add_option("--preview", options.preview_file,
                 "during the decode, keep a small copy of the picture, or of the first frame, up to date in "
                 "this .ppm, at most 1024 pixels across");
  app.add_option("--stats", options.stats_file, "write the measured memory and times (JSON)");
  app.add_option("--trace", options.trace_file, "write every allocation, pass and tile (JSON)");
  app.add_flag("--json", options.json, "print the statistics as JSON on standard output");
}

void add_run_options(CLI::App& app, DecodeOptions& options) {
  app.add_option("--threads", options.threads, "threads to use; all by default")->check(CLI::Range(1, 4096));
  app.add_flag("--verify", options.verify, "decode again another way and compare the pictures");
  app.add_option("--rank-timeout", options.rank_timeout_seconds,
                 "end all ranks if one is silent for so many seconds")
      ->check(CLI::Range(0.1, 86'400.0));
  app.add_option(
         "--rank-exchange", options.rank_exchange,
         "transport between ranks: gloo, through host memory; nccl, between GPUs; auto: nccl for plans on a "
         "GPU. Ranks trust their network: whoever reaches their ports can join, change or end a decode")
      ->check(CLI::IsMember({"auto", "gloo", "nccl"}));
  add_progress_options(app, options.progress);
}

void check_stream(const DecodeOptions& options) {
  const std::string output = "-o " + options.output + ": ";
  if (options.verify)
    throw InputError(output + "--verify keeps a copy beside the output: expected a file, found a stream");
  if (is_standard_output(options.output) && is_terminal(kStandardOutput))
    throw InputError(output + "a terminal shows no picture: expected a file, or a pipe to another program");
}

/// Checks rules that CLI11 cannot express.
void check(const DecodeOptions& options, bool has_frame_rate) {
  const int sources = !options.plan_file.empty() + !options.limit.empty() + !options.queue_file.empty();
  if (sources != 1) {
    throw InputError("expected one of --limit BYTES, --plan FILE and --queue FILE, found " +
                     std::string(sources == 0 ? "none" : "several") + " (try headroom-decode --help)");
  }
  if (!options.dtype.empty() && options.limit.empty())
    throw InputError("--dtype: goes with --limit; a plan has its own (try headroom-decode --help)");
  if (options.limit.empty())
    refuse_given({{!options.profile_file.empty(), "--profile"}},
                 "goes with --limit; a plan has its own costs");
  if (options.limit.empty())
    refuse_given({{!options.tf32.empty(), "--tf32"}}, "goes with --limit; a plan has its own");
  if (!options.queue_file.empty()) {
    return refuse_given({{options.verify, "--verify"},
                         {!options.preview_file.empty(), "--preview"},
                         {!options.trace_file.empty(), "--trace"},
                         {!options.scratch.empty(), "--scratch"},
                         {!options.scratch_limit.empty(), "--scratch-limit"}},
                        "not with --queue; decode one of its plans by itself");
  }
  if (options.latents.size() != 1) {
    throw InputError("--latent: expected one latent, found " + std::to_string(options.latents.size()) +
                     " (try headroom-decode --help)");
  }
  if (options.output.empty()) throw InputError("--output is required (try headroom-decode --help)");
  if (is_stream(options.output)) check_stream(options);
  const std::filesystem::path output = options.output;
  if (has_frame_rate && lower_case(output.extension().string()) != ".y4m" &&
      !(is_stream(output) && !output.has_extension()))
    throw InputError("--fps: only an output in .y4m has a frame rate (try headroom-decode --help)");
}

/// Rejects --rank-timeout and --rank-exchange if no launcher started ranks.
void check_rank_options(const CLI::App& app) {
  const bool timeout = app.count("--rank-timeout") > 0, exchange = app.count("--rank-exchange") > 0;
  if ((!timeout && !exchange) || rank_environment()) return;
  refuse_given({{timeout, "--rank-timeout"}, {exchange, "--rank-exchange"}},
               "goes with several ranks, as torchrun starts them");
}

/// Rejects --quality for a format without one. The outputs of a queue are named in its file, so they are not
/// checked here.
void check_quality(bool given, const DecodeOptions& options) {
  if (given && !has_quality(options.output) && options.queue_file.empty())
    throw InputError("--quality: only an output in .jpg or .webp has one (try headroom-decode --help)");
}

}  // namespace

void refuse_given(const std::vector<Given>& options, const std::string& why) {
  for (const Given& option : options) {
    if (option.given)
      throw InputError(std::string(option.name) + ": " + why + " (try headroom-decode --help)");
  }
}

std::optional<DecodeOptions> parse_decode_options(const std::vector<std::string>& args, std::ostream& out) {
  command_of(args, {kEncode, kStream},
             "Without a command it decodes: headroom-decode --limit 2GiB --model vae/ --latent latent.npy -o "
             "picture.png. To run a queue: headroom-decode --queue queue.json --model vae/");
  DecodeOptions options;
  CLI::App app(kSummary + commands_help({kEncode, kStream}) + kExitCodes, "headroom-decode");
  std::string frame_rate, device;
  add_plan_options(app, options, device);
  add_input_options(app, options);
  add_output_options(app, options, frame_rate);
  add_run_options(app, options);
  if (!parse_arguments(app, args, out)) return std::nullopt;
  if (!frame_rate.empty()) options.frame_rate = parse_frame_rate(frame_rate, "--fps");
  if (!device.empty()) options.device = parse_device_name(device);
  check(options, !frame_rate.empty());
  check_quality(app.count("--quality") > 0, options);
  check_rank_options(app);
  return options;
}

namespace {

constexpr const char* kDescription =
    "Encode a picture or clip into a latent within a memory limit. The latent is that of the untiled "
    "encode.\n\n"
    "Examples:\n"
    "  headroom-decode encode --limit 2GiB --model vae/ --picture photo.png -o latent.safetensors\n"
    "  headroom-decode encode --limit 8GiB --model wan-vae/ --picture frames/ -o clip.safetensors\n"
    "  headroom-decode encode --limit 4GiB --model vae/ --pictures photos/ --crop -o latents/\n";

void check(const EncodeOptions& options) {
  if (options.picture.empty() == options.pictures.empty())
    throw InputError("expected one of --picture PATH and --pictures DIR (try headroom-decode encode --help)");
  if (options.plan_file.empty() == options.limit.empty())
    throw InputError("expected one of --limit BYTES and --plan FILE (try headroom-decode encode --help)");
  const bool plans = !options.limit.empty();
  if (!plans && !options.pictures.empty())
    throw InputError("--plan: not with --pictures, whose sizes may differ; give --limit");
  if (!plans && !(options.dtype.empty() && options.tf32.empty() && options.profile_file.empty() &&
                  options.scratch.empty()))
    throw InputError("--dtype, --tf32, --profile, --scratch: go with --limit; a plan has its own");
  if (options.scratch.empty() && !options.scratch_limit.empty())
    throw InputError("--scratch-limit: expected --scratch DIR beside it");
  if (options.pictures.empty()) check_latent_output(options.output);
}

}  // namespace

std::optional<EncodeOptions> parse_encode_options(const std::vector<std::string>& args, std::ostream& out) {
  EncodeOptions options;
  CLI::App app(std::string(kDescription) + kExitCodes, "headroom-decode encode");
  add_model_options(app, options);
  app.add_option(
      "--picture", options.picture,
      "picture: .png, .jpg or .webp; clip: a folder with its frames, in the order of their names; "
      "either: .npy or .safetensors[:key], floats from -1 to 1, NxCxHxW or NxCxTxHxW. --picture or "
      "--pictures is required");
  app.add_option("--pictures", options.pictures,
                 "folder with .png, .jpg and .webp pictures of any sizes; -o is a folder, and each picture "
                 "becomes NAME.safetensors there; pictures whose latent exists are skipped");
  app.add_flag(
      "--crop", options.crop,
      "cut the edges evenly to the nearest size that has a latent, and frames from the end of a clip");
  app.add_option(
      "--limit", options.limit,
      "most memory, weights included: 2GiB, 512MiB, or auto for the free memory. --limit or --plan "
      "is required");
  app.add_option(
      "--plan", options.plan_file,
      "instead of --limit: a plan file from headroom-plan --direction encode; not with --pictures");
  app.add_option("--dtype", options.dtype, std::string("with --limit: ") + kDtypeHelp + " (default: fp32)");
  std::string device;
  app.add_option("--device", device,
                 std::string(kDeviceNameHelp) + "cpu by default, with --plan the plan's own");
  app.add_flag("--tf32", options.tf32, std::string("with --limit: ") + kTf32Help);
  app.add_option("--scratch", options.scratch, "folder on a disk; the plan may keep tensors in a file there");
  app.add_option("--scratch-limit", options.scratch_limit, "most bytes of that file, such as 20GiB");
  app.add_option("--profile", options.profile_file,
                 "with --limit: plan with this machine's profile, from headroom-profile");
  app.add_flag("--other-environment", options.other_environment,
               "run a plan whose costs were measured on another machine");
  app.add_option("-o,--output", options.output,
                 "latent: .npy, .safetensors, or ComfyUI's .latent; with --pictures a folder")
      ->required();
  app.add_option(
         "--latent-scale", options.latent_scale,
         "model: the scale of diffusers' pipelines; none: the encoder's own scale; a .latent always has "
         "ComfyUI's scale")
      ->check(CLI::IsMember({"model", "none"}));
  app.add_option("--stats", options.stats_file, "write the measured memory and times (JSON)");
  app.add_flag("--json", options.json, "print the statistics as JSON on standard output");
  app.add_option("--threads", options.threads, "threads to use; all by default")->check(CLI::Range(1, 4096));
  add_progress_options(app, options.progress);
  if (!parse_arguments(app, args, out)) return std::nullopt;
  if (!device.empty()) options.device = parse_device_name(device);
  check(options);
  return options;
}

namespace {

constexpr const char* kStreamDescription =
    "Decode a clip whose latents arrive in blocks, within a memory limit. The frames are those of the whole "
    "clip.\n"
    "Standard input has blocks as numpy.save() writes them, 1xCxTxHxW with any T. Standard output gets the "
    "frames as .y4m, each as soon as it is ready.\n\n"
    "Example:\n"
    "  sampler | headroom-decode stream --limit 6GiB --model wan-vae/ | ffplay -\n";

}  // namespace

std::optional<StreamOptions> parse_stream_options(const std::vector<std::string>& args, std::ostream& out) {
  StreamOptions options;
  options.output = "-";
  CLI::App app(std::string(kStreamDescription) + kExitCodes, "headroom-decode stream");
  add_model_options(app, options);
  app.add_option("--limit", options.limit,
                 "most memory, weights and state included: 2GiB, 512MiB, or auto for the free memory")
      ->required();
  app.add_option("--block", options.block,
                 "most latent frames of a block; those of the first block by default")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--latent-scale", options.latent_scale,
                 "model: undo the scaling of a pipeline's latent; none: decode the latent as it is; auto: "
                 "detect from the values of the first block; if in doubt, as with model")
      ->check(CLI::IsMember({"auto", "model", "none"}));
  app.add_option("--dtype", options.dtype, std::string(kDtypeHelp) + " (default: fp32)");
  std::string device;
  app.add_option("--device", device, std::string(kDeviceNameHelp) + "cpu by default");
  app.add_flag("--tf32", options.tf32, kTf32Help);
  app.add_option("--profile", options.profile_file,
                 "plan with this machine's profile, from headroom-profile");
  std::string frame_rate;
  app.add_option("--fps", frame_rate,
                 "frames per second of the .y4m: 25, or a ratio such as 30000/1001; 24 by default");
  app.add_option("--threads", options.threads, "threads to use; all by default")->check(CLI::Range(1, 4096));
  if (!parse_arguments(app, args, out)) return std::nullopt;
  if (!device.empty()) options.device = parse_device_name(device);
  if (!frame_rate.empty()) options.frame_rate = parse_frame_rate(frame_rate, "--fps");
  if (is_terminal(kStandardOutput))
    throw InputError("a terminal shows no clip: expected a file or a pipe as standard output");
  return options;
}

}  // namespace headroom
