#include "planner/cost/profile_check.h"

#include <algorithm>

#include "decoder/base/errors.h"
#include "decoder/cpu/loops/loops.h"
#include "decoder/graph/geometry.h"
#include "decoder/schedule/build_plan.h"
#include "profiler/profile/profile_file.h"

namespace headroom::planner {

void check_profiled_model(const profiler::Profile& profile, const std::string& file, const Graph& graph,
                          const Request& request) {
  if (profile.device_kind != request.device) {
    throw InputError(file + ": device: measured on " + name_of(profile.device_kind) + " (\"" +
                     profile.device + "\"), the plan is for " + name_of(request.device) +
                     ": expected a profile of headroom-profile --device " + name_of(request.device));
  }
  if (profile.direction != request.direction) {
    const std::string asked = name_of(request.direction);
    throw InputError(file + ": direction: measured " + name_of(profile.direction) + ", the plan is to " +
                     asked + ": expected a profile of headroom-profile --direction " + asked);
  }
  if (profile.dtype != request.dtype) {
    throw InputError(file + ": dtype: expected " + name_of(request.dtype) + " as asked for, found " +
                     name_of(profile.dtype));
  }
  if (profile.tf32 != request.tf32) {
    const auto measured = [](Tf32 tf32) { return std::string("fp32") + after_dtype(tf32); };
    throw InputError(
        file + ": tf32: measured in " + measured(profile.tf32) + ", the plan is for " +
        measured(request.tf32) + ": expected a profile of headroom-profile " +
        (request.tf32.any() ? std::string("--tf32=") + name_of(request.tf32) : "without --tf32"));
  }
  for (const profiler::ProfiledSize& size : profile.sizes) {
    if ((size.frames == 1) == (request.frames == 1)) continue;
    throw InputError(
        file + ": sizes: measured with " + std::to_string(size.frames) + " frames, the plan is for " +
        std::to_string(request.frames) +
        "; single frames and clips use different kernels: expected a profile of headroom-profile --frames " +
        std::to_string(request.frames));
  }
  const auto differs = [&](size_t layer, const std::string& what) {
    throw InputError(file + ": layers[" + std::to_string(layer) + "]: expected " + what + " of " +
                     request.model + "; it is a profile of another model, " + profile.model);
  };
  const std::vector<Op>& ops = graph.ops();
  if (profile.layers.size() != ops.size()) {
    throw InputError(file + ": layers: expected the " + std::to_string(ops.size()) + " layers of " +
                     request.model + ", found " + std::to_string(profile.layers.size()) +
                     "; it is a profile of another model, " + profile.model);
  }
  for (size_t i = 0; i < ops.size(); ++i) {
    const profiler::LayerProfile& layer = profile.layers[i];
    if (layer.name != ops[i].name || layer.kind != name_of(ops[i].kind)) {
      differs(i, std::string(name_of(ops[i].kind)) + " " + ops[i].name);
    }
    const std::string latency_table =
        profiler::latency_table_name(graph, ops[i], device_record(profile.device_kind).algorithms.back());
    if (layer.latency_table != latency_table) differs(i, latency_table);
    for (size_t s = 0; s < profile.sizes.size(); ++s) {
      const profiler::ProfiledSize& size = profile.sizes[s];
      const Extent latent =
          latent_at(picture_scale(graph), {size.frames, size.height_pixels, size.width_pixels});
      const int64_t bytes = bytes_of(graph.tensor(ops[i].output), latent, size.batch, profile.dtype);
      if (layer.sizes[s].activation_bytes != bytes) {
        differs(i, std::to_string(bytes) + " activation_bytes at " + std::to_string(size.width_pixels) + "x" +
                       std::to_string(size.height_pixels));
      }
    }
  }
  if (const std::string missing = LatencyLookup(graph, profile).missing(); !missing.empty())
    throw InputError(file + ": latency_tables: expected one named \"" + missing +
                     "\", found none; profile the model again");
}

void check_profiled_machine(const profiler::Profile& profile, const std::string& file) {
  if (profile.device.empty() || profile.libraries.empty()) {
    throw InputError(file + ": " + (profile.device.empty() ? "device" : "libraries") +
                     ": expected what was measured, found an empty text");
  }
  if (!device_record(profile.device_kind).is_host) return;
  const std::string here = processor_name();
  if (profile.device.rfind(here + ", ", 0) == 0 || profile.device == here) return;
  throw InputError(file + ": device: measured on \"" + profile.device + "\", this is \"" + here +
                   "\"; give --other-environment to plan for that machine");
}

void check_profiled_range(const profiler::Profile& profile, const std::string& file, const Graph& graph,
                          const Plan& plan) {
  const LatencyLookup latency_tables(graph, profile);
  const Sizes sizes = sizes_of(graph, plan);
  for (const Pass& pass : plan.passes) {
    const Extent tile = cut_tile(graph, pass);
    const auto beyond = latency_tables.beyond(pass, tile, sizes);
    if (!beyond) continue;
    const Step& step = pass.steps[beyond->step];
    const profiler::LatencyTable& latency_table = latency_tables.of(step, pass.convolutions.of(step.op));
    throw InputError(file + ": layers[" + std::to_string(index(step.op)) + "] (" + graph.op(step.op).name +
                     "): measured from " + std::to_string(latency_table.least_positions()) + " to " +
                     std::to_string(latency_table.most_positions()) +
                     " positions, where its cost per position still changes, but the plan has tiles of " +
                     std::to_string(static_cast<int64_t>(beyond->positions)) + "; profile a size near " +
                     std::to_string(plan.request.width_pixels) + "x" +
                     std::to_string(plan.request.height_pixels));
  }
}

CostModel costs_of(const Graph& graph, const Request& request, const std::string& profile_file,
                   bool other_environment) {
  if (profile_file.empty()) return CostModel(graph, request.device);
  const profiler::Profile profile = profiler::read_profile(profile_file);
  check_profiled_model(profile, profile_file, graph, request);
  if (!other_environment) check_profiled_machine(profile, profile_file);
  return CostModel(graph, profile, request);
}

}  // namespace headroom::planner
