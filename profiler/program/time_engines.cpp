#include "profiler/program/time_engines.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "decoder/base/amounts.h"
#include "decoder/base/errors.h"
#include "decoder/base/os/whole_file.h"
#include "decoder/base/text.h"
#include "decoder/gpu/calls/open_gpu.h"
#include "decoder/plan/plan_file.h"
#include "decoder/session/environment.h"
#include "decoder/session/progress_events.h"
#include "decoder/validator/validator.h"
#include "profiler/measure/plan_engines.h"
#include "profiler/profile/profile_file.h"

namespace headroom::profiler {
namespace {

/// Engines are those of one card and one version of the library.
void check_environment(const Profile& profile, const Environment& here, const std::string& file) {
  const auto require = [&](const std::string& key, const std::string& found, const std::string& expected) {
    if (found != expected)
      throw InputError(file + ": " + key + ": found " + printable(found) + ", expected " +
                       printable(expected) + "; profile the model again");
  };
  require("device", profile.device, here.device);
  require("libraries", profile.libraries, here.libraries);
}

void print_summary(const std::vector<EngineChoice>& timed, const std::string& file, std::ostream& out) {
  const std::vector<EngineChoice> faster = faster_engines(timed);
  for (const EngineChoice& choice : faster)
    out << choice.problem << ": " << choice.engine << " " << format_seconds(choice.seconds) << ", "
        << choice.first_engine << " " << format_seconds(choice.first_seconds) << "\n";
  out << one_line(file) << ": timed " << timed.size() << " convolutions; " << faster.size()
      << " have a faster engine than the library's choice\n";
}

}  // namespace

void time_engines(const Model& model, const EnginesRequest& request, const ParameterSource& weights,
                  Progress& progress, std::ostream& out) {
  const auto& [plan_file, profile_file, device] = request;
  const Plan plan = read_plan(plan_file, model.graph);
  require_valid(plan, model, plan_file);
  if (device_record(plan.request.device).is_host)
    throw InputError("--engines: " + plan_file + " is a plan for cpu, expected one for cuda");
  check_device(device, plan_file, plan.request.device);
  Profile profile = read_profile(profile_file);
  const std::unique_ptr<gpu::Gpu> gpu = gpu::open_gpu_for(plan.request.device, gpu_index(device));
  start_libraries(0);
  check_environment(profile, environment_here(gpu.get()), profile_file);
  RunBegun news = begun("headroom-profile", plan);
  news.output = profile_file;
  progress.tell(news);
  const std::vector<EngineChoice> timed = time_plan_engines(model, {plan}, weights, *gpu);
  add_engine_choices(profile.engines, timed);
  write_file_whole(profile_file, to_json(profile).dump(1) + "\n");
  progress.wipe();
  print_summary(timed, profile_file, out);
}

}  // namespace headroom::profiler
