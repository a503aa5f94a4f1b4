#include "planner/program/commands.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "decoder/base/amounts.h"
#include "decoder/base/errors.h"
#include "decoder/base/text.h"
#include "decoder/cli/arguments.h"
#include "decoder/cli/prepare_outputs.h"
#include "decoder/cli/run_guard.h"
#include "decoder/devices/device_name.h"
#include "decoder/plan/requests_file.h"
#include "decoder/weights/open_model.h"
#include "planner/answer/planner.h"
#include "planner/program/loaded_plan.h"
#include "planner/program/request_options.h"
#include "planner/search/queue.h"

namespace headroom::planner {
namespace {

/// Rewrites relative latent paths, which are relative to the queue's file, for the folder that the queue is
/// written to.
void move_latents(RequestQueue& queue, const std::filesystem::path& from_file,
                  const std::filesystem::path& to_file) {
  const auto folder = [](const std::filesystem::path& file) {
    return std::filesystem::absolute(file).parent_path().lexically_normal();
  };
  const std::filesystem::path way = folder(from_file).lexically_relative(folder(to_file));
  if (way == ".") return;
  for (QueuedRequest& request : queue.requests) {
    for (std::string& latent : request.latents) {
      if (std::filesystem::path(latent).is_relative()) latent = (way / latent).string();
    }
  }
}

void print_summary(const RequestQueue& queue, const std::string& output, std::ostream& out) {
  const QueuePrediction prediction = predict(queue);
  out << one_line(output) << ": " << queue.order.size() << " decodes of " << queue.plans.size()
      << " shapes in " << arithmetic_of(queue.plans.front().request) << ", one pool of "
      << format_bytes(prediction.pool_bytes) << ", peak " << format_bytes(prediction.peak_bytes) << " of "
      << format_bytes(queue.limit_bytes) << ", " << format_seconds(prediction.seconds)
      << (queue.plans.front().assumed ? " by assumed costs" : "") << "\n";
}

}  // namespace

int queue_command(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
  CLI::App app(
      "Plan several decodes that run in one process, one after another, over one pool: a plan for each "
      "distinct shape,\n"
      "largest need first. headroom-decode --queue runs them.\n\n"
      "Example:\n"
      "  headroom-plan queue requests.json --model sdxl --limit 1.25GiB -o queue.json\n\n"
      "requests.json:\n"
      "  {\"schema\": \"headroom.requests\", \"version\": 1, \"requests\": [\n"
      "    {\"name\": \"a\", \"width_pixels\": 1024, \"height_pixels\": 1024, \"latent\": \"a.safetensors\", "
      "\"output\": \"a.png\"},\n"
      "    {\"name\": \"b\", \"width_pixels\": 768, \"height_pixels\": 1152, \"latent\": \"b.safetensors\", "
      "\"output\": \"b.png\"}]}",
      "headroom-plan queue");
  std::string file, model_argument, profile_file, dtype_argument, device_argument, tf32, limit, output;
  bool json = false;
  app.add_option("requests", file, "file with the requests")->required();
  app.add_option("--model", model_argument, std::string(kModelHelp) + "; the file's own by default");
  app.add_option("--profile", profile_file,
                 "this machine's profile, from headroom-profile; assumed costs by default");
  app.add_option("--dtype", dtype_argument,
                 std::string(kDtypeHelp) + "; the file's own by default, else fp32");
  app.add_option("--device", device_argument,
                 std::string(kDeviceHelp) + "; the file's own by default, else cpu");
  app.add_flag("--tf32", tf32, kTf32Help);
  app.add_option("--limit", limit,
                 "most memory of the device, weights included: 2GiB, 512MiB, or auto for the free memory")
      ->required();
  app.add_option("-o,--output", output, "the planned queue")->required();
  app.add_flag("--json", json, "also print the planned queue on standard output");
  if (!parse_arguments(app, args, out)) return kDone;

  RequestQueue queue = [&] {
    const nlohmann::json document = read_requests_file(file);
    return requests_from_json(JsonFields(document, file));
  }();
  const Model model = for_frames(open_model(model_of_queue(queue, file, model_argument)), most_frames(queue));
  const MadeFolders folders = prepare_outputs({{"-o", output}, {"--json", json ? "-" : ""}},
                                              {{"--profile", profile_file},
                                               {"requests", file},
                                               {"--model", model_of_queue(queue, file, model_argument)}});
  if (model_argument.empty()) model_argument = queue.model;
  const Dtype asked_dtype =
      dtype_argument.empty() ? queue.dtype.value_or(Dtype::fp32) : parse_dtype(dtype_argument, "--dtype");
  const Dtype dtype = decoding_dtype(model, asked_dtype);
  Request like{model_argument, 1, 1, most_frames(queue), 1, dtype, queue.device};
  if (!device_argument.empty()) like.device = parse_device_name(device_argument).kind;
  like.tf32 = queue.tf32;
  set_tf32(like, tf32);
  const int64_t limit_bytes = limit_from(limit, device_record(like.device));
  Question question{.request = like,
                    .options = {.limit_bytes = limit_bytes, .thrift = kDefaultThrift},
                    .one_of_several = true};
  set_profile(question, profile_file);
  costs_of(model.graph, question);  // rejects an unsuitable profile in the name of the whole queue
  const auto plan_shape = [&](const Request& request) {
    question.request = request;
    return Planner(model, question).fastest();
  };
  queue = plan_queue(std::move(queue), model, like, limit_bytes, plan_shape, file);
  move_latents(queue, file, output);
  write_queue(output, queue, model.graph);
  if (dtype != asked_dtype) err << "headroom-plan: " << upcast_note(model, asked_dtype) << std::endl;
  if (json) {
    out << to_json(queue, model.graph).dump(2) << "\n";
  } else {
    print_summary(queue, output, message_stream({output}, out, err));
  }
  return kDone;
}

}  // namespace headroom::planner
