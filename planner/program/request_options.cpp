#include "planner/program/request_options.h"

#include <filesystem>

#include "decoder/base/amounts.h"
#include "decoder/base/errors.h"
#include "decoder/cli/arguments.h"
#include "decoder/devices/device_name.h"
#include "decoder/families/built_in_models.h"
#include "decoder/weights/open_model.h"
#include "planner/run/tasks.h"

namespace headroom::planner {

int64_t limit_from(const std::string& text, const DeviceRecord& device) {
  if (text != "auto") return parse_bytes(text, "--limit");
  if (!device.is_host) {
    throw InputError(
        "--limit auto: what a GPU has free is not known without it; give bytes, as in --limit 16GiB");
  }
  return limit_of_free_memory(nullptr);
}

void RequestOptions::add_to(CLI::App& app) {
  app.add_option("--model", model, kModelHelp)->required();
  app.add_option("--profile", profile_file,
                 "this machine's profile, from headroom-profile; assumed costs by default");
  app.add_flag("--other-environment", other_environment,
               "accept a profile of another processor than this one");
  app.add_option("--size", size, "picture size in pixels, WIDTHxHEIGHT")->required();
  app.add_option("--frames", frames, "frames of a clip; 1 for pictures")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20));
  app.add_option("--batch", batch, "pictures in the latent")->check(CLI::Range(int64_t{1}, int64_t{4096}));
  app.add_option("--direction", direction, kDirectionHelp)->check(CLI::IsMember({"decode", "encode"}));
  app.add_option("--dtype", dtype, kDtypeHelp);
  app.add_option("--device", device, kDeviceHelp);
  app.add_flag("--tf32", tf32, kTf32Help);
  app.add_option("--host-limit", host_limit, "most host memory for kept tensors; only with --device cuda");
  app.add_option("--scratch", scratch_folder,
                 "folder on a disk; the plan may keep tensors in a scratch file there");
  app.add_option("--scratch-limit", scratch_limit,
                 "most bytes of that file, such as 20GiB; by default the free space there");
  app.add_option(
         "--weights-residency", weights,
         "resident: keep the weights in memory; per_pass: load them for each pass; auto: the faster one")
      ->check(CLI::IsMember({"auto", "resident", "per_pass"}));
}

Model RequestOptions::resolved_model() const {
  return for_frames(for_direction(open_model(model), parse_direction(direction)), frames);
}

PictureSize RequestOptions::picture_size() const {
  const auto [width, height] = parse_size(size, "--size");
  return {{frames, height, width}, batch};
}

Request RequestOptions::request(const Model& resolved, const PictureSize& picture) const {
  const bool built_in = built_in_config(resolved.config_file) != nullptr;
  Request request{built_in ? resolved.config_file : model,  // "SDXL" as "sdxl"
                  picture.extent.x,
                  picture.extent.y,
                  picture.extent.t,
                  picture.batch,
                  decoding_dtype(resolved, parse_dtype(dtype, "--dtype")),
                  parse_device_name(device).kind};
  set_direction(request, direction_of(resolved.graph));
  set_tf32(request, tf32);
  return request;
}

void RequestOptions::say_dtype(const Model& resolved, std::ostream& err) const {
  const std::string note = upcast_note(resolved, parse_dtype(dtype, "--dtype"));
  if (!note.empty()) err << "headroom-plan: " << note << std::endl;
}

void RequestOptions::check() const {
  if (other_environment && profile_file.empty()) throw InputError("--other-environment: goes with --profile");
}

PlanOptions RequestOptions::plan_options() const {
  PlanOptions options;
  if (!host_limit.empty()) options.host_limit_bytes = parse_bytes(host_limit, "--host-limit");
  if (!scratch_folder.empty()) {
    options.scratch_folder = scratch_folder;
    options.scratch_limit_bytes = scratch_limit.empty() ? free_disk_bytes(scratch_folder)
                                                        : parse_bytes(scratch_limit, "--scratch-limit");
  } else if (!scratch_limit.empty()) {
    throw InputError("--scratch-limit: expected --scratch FOLDER beside it");
  }
  options.thrift = thrift.empty() ? kDefaultThrift : parse_share(thrift, "--thrift");
  if (weights == "resident") options.weights = WeightResidency::resident;
  if (weights == "per_pass") options.weights = WeightResidency::per_pass;
  return options;
}

Question RequestOptions::question(const Model& resolved, const PictureSize& picture) const {
  Question asked{.request = request(resolved, picture), .options = plan_options()};
  set_profile(asked, profile_file);
  asked.other_environment = other_environment;
  return asked;
}

}  // namespace headroom::planner
