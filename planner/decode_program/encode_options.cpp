#include "planner/decode_program/encode_options.h"

#include "decoder/base/errors.h"
#include "decoder/cli/arguments.h"
#include "decoder/files/latent_file.h"

namespace headroom {
namespace {

constexpr const char* kDescription =
    "Encode a picture or clip into a latent within a memory limit. The latent is that of the untiled "
    "encode.\n\n"
    "Examples:\n"
    "  headroom-decode encode --limit 2GiB --model vae/ --picture photo.png -o latent.safetensors\n"
    "  headroom-decode encode --limit 8GiB --model wan-vae/ --picture frames/ -o clip.safetensors\n"
    "  headroom-decode encode --limit 4GiB --model vae/ --pictures photos/ --crop -o latents/\n\n"
    "Exit codes: 0 done; 2 bad usage or input; 3 does not fit; 4 stopped before crossing the limit; 5 device "
    "failure.";

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
  CLI::App app(kDescription, "headroom-decode encode");
  app.add_option("--model", options.model, kModelHelp)->required();
  auto* weights =
      app.add_option("--weights", options.weights,
                     "folder with diffusion_pytorch_model.safetensors, or a .safetensors file; the "
                     "model's folder by default");
  app.add_option("--random-weights", options.random_seed, "seeded random weights instead of files")
      ->excludes(weights);
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

}  // namespace headroom
