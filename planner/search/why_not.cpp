#include "planner/search/why_not.h"

#include <algorithm>
#include <limits>

#include "decoder/graph/amounts.h"
#include "planner/search/make_plan.h"

namespace headroom::planner {
namespace {

constexpr int64_t kAmple = int64_t{1} << 50;

std::string mebibytes_up(int64_t bytes) {
  return std::to_string((bytes + (int64_t{1} << 20) - 1) >> 20) + "MiB";
}

/// The most bytes that a plan keeps in one tier at one time.
int64_t bytes_in(const Plan& plan, MemoryTier tier, const Graph& graph) {
  const Sizes sizes = sizes_of(graph, plan);
  int64_t most = 0;
  for (size_t pass = 0; pass < plan.passes.size(); ++pass) {
    int64_t sum = 0;
    for (const Materialised& entry : plan.materialised) {
      const bool alive =
          entry.first_pass <= static_cast<int32_t>(pass) && static_cast<int32_t>(pass) <= entry.last_pass;
      if (entry.tier != tier || !alive) continue;
      sum += materialised_bytes(graph, entry, sizes);
    }
    most = std::max(most, sum);
  }
  return most;
}

std::vector<Blocker> blockers_of(const Plan& plan, size_t number, const Model& model,
                                 const CostModel& costs) {
  const Graph& graph = model.graph;
  const Sizes sizes = sizes_of(graph, plan);
  const Pass& pass = plan.passes[number];
  const int64_t weights = device_weights_bytes(graph, plan, pass);
  std::vector<Blocker> list{{"weights", "weights", weights}, {"reserve", "reserve", plan.reserve_bytes}};
  if (const int64_t state = device_state_bytes(graph, sizes); state > 0)
    list.push_back({"statistics", "statistics", state});
  for (const Materialised& entry : plan.materialised) {
    const auto now = static_cast<int32_t>(number);
    if (entry.tier != MemoryTier::device || now < entry.first_pass || now > entry.last_pass) continue;
    // In the pass that takes blocks over they are listed under the tensor that had them.
    if (entry.in_place_of != TensorId{-1} && now == entry.first_pass) continue;
    list.push_back({graph.tensor(entry.tensor).name, "kept", materialised_bytes(graph, entry, sizes)});
  }
  const auto longest = [](const std::vector<Interval>& intervals) { return intervals.front().length(); };
  const std::vector<int64_t> working =
      step_bytes(graph, pass, per_axis(longest, pass.tiles), sizes, costs.memory());
  const auto largest = std::max_element(working.begin(), working.end());
  list.push_back({graph.tensor(pass.steps[static_cast<size_t>(largest - working.begin())].tensor).name,
                  "tiles", *largest});
  std::sort(list.begin(), list.end(), [](const Blocker& a, const Blocker& b) { return a.bytes > b.bytes; });
  return list;
}

Relaxation relax(const Change& change, const Model& model, const CostModel& costs) {
  Relaxation relaxation{.change = change.option};
  const Spaces spaces = spaces_of(model, change.request, change.options, costs);
  if (const ConfigurationSearch found = fastest_over(spaces, change.request, change.options.limit_bytes);
      found.best) {
    relaxation.seconds = found.best->seconds;
    if (change.added) {
      const Plan plan =
          plan_of(found.best->solution, model, change.request, found.best->frame, change.options, costs);
      relaxation.needs_bytes = bytes_in(plan, *change.added, model.graph);
    }
  } else {
    relaxation.smallest_limit_bytes = smallest_over(spaces).smallest.bytes;
  }
  return relaxation;
}

}  // namespace

std::vector<Change> changes_of(const Model& model, const Request& request, const PlanOptions& options,
                               const CostModel& costs) {
  std::vector<Change> list;
  const auto change = [&](const std::string& option, const std::string& meaning) -> Change& {
    return list.emplace_back(Change{option, meaning, request, options});
  };
  if (options.weights == WeightResidency::resident) {
    change("--weights-residency auto", "weights are brought in pass by pass where that is better")
        .options.weights.reset();
  }
  const bool on_cpu = request.device == DeviceKind::cpu;
  if (on_cpu && options.scratch_limit_bytes < kAmple) {
    const bool some = options.scratch_limit_bytes > 0;
    Change& scratch =
        change(some ? "--scratch-limit" : "--scratch DIR",
               std::string("kept tensors may live in a ") + (some ? "larger " : "") + "file on a disk");
    scratch.options.scratch_limit_bytes = kAmple;
    if (!some) scratch.options.scratch_folder = "scratch";
    scratch.added = MemoryTier::scratch;
  }
  if (options.host_limit_bytes > 0 || !on_cpu) {
    const bool some = options.host_limit_bytes > 0;
    Change& host = change("--host-limit", std::string("kept tensors may ") +
                                              (some ? "take more of" : "live in") + " the host's memory");
    host.options.host_limit_bytes = kAmple;
    host.added = MemoryTier::host;
  }
  // A profile is of one dtype.
  if (request.dtype == Dtype::fp32 && costs.assumed()) {
    for (const Dtype dtype : {Dtype::bf16, Dtype::fp16}) {
      if (decoding_dtype(model, dtype) != dtype) continue;
      change(std::string("--dtype ") + name_of(dtype),
             std::string("kept tensors are stored in 16 bits, as ") + name_of(dtype))
          .request.dtype = dtype;
    }
  }
  return list;
}

WhyNot why_not(const Model& model, const Request& request, const PlanOptions& options,
               const CostModel& costs) {
  const Plan plan = smallest_plan(spaces_of(model, request, options, costs), model, request, options, costs);
  const auto highest = std::max_element(
      plan.passes.begin(), plan.passes.end(),
      [](const Pass& a, const Pass& b) { return a.predicted_peak_bytes < b.predicted_peak_bytes; });
  WhyNot why{options.limit_bytes,
             plan.limit_bytes,
             static_cast<size_t>(highest - plan.passes.begin()),
             highest->name,
             {},
             {}};
  why.blockers = blockers_of(plan, why.pass, model, costs);

  for (const Change& change : changes_of(model, request, options, costs))
    why.relaxations.push_back(relax(change, model, costs));
  std::erase_if(why.relaxations, [&](const Relaxation& relaxation) {
    return !relaxation.seconds && *relaxation.smallest_limit_bytes >= why.smallest_limit_bytes;  // of no help
  });
  std::stable_sort(why.relaxations.begin(), why.relaxations.end(),
                   [](const Relaxation& a, const Relaxation& b) {
                     constexpr double kNever = std::numeric_limits<double>::infinity();
                     return a.seconds.value_or(kNever) < b.seconds.value_or(kNever);
                   });
  return why;
}

std::string to_text(const WhyNot& why, const Request& request) {
  std::string text = std::to_string(request.width_pixels) + "x" + std::to_string(request.height_pixels) +
                     " does not fit " + format_bytes(why.limit_bytes) +
                     "; the smallest limit that works is " + mebibytes_up(why.smallest_limit_bytes) + " (" +
                     std::to_string(why.smallest_limit_bytes) + " bytes): pass " + std::to_string(why.pass) +
                     " (" + why.pass_name + ") holds";
  for (size_t i = 0; i < std::min<size_t>(why.blockers.size(), 4); ++i) {
    const Blocker& blocker = why.blockers[i];
    text += (i ? ", " : " ") + (blocker.what == "tiles" ? "tiles of " + blocker.name : blocker.name) + " " +
            format_bytes(blocker.bytes);
  }
  for (const Relaxation& relaxation : why.relaxations) {
    text += "; with " + relaxation.change + " it ";
    if (relaxation.seconds) {
      text += "takes " + format_seconds(*relaxation.seconds);
      if (relaxation.needs_bytes) text += " and " + mebibytes_up(*relaxation.needs_bytes) + " there";
    } else {
      text += "needs " + mebibytes_up(*relaxation.smallest_limit_bytes);
    }
  }
  return text;
}

nlohmann::json to_json(const WhyNot& why) {
  nlohmann::json blockers = nlohmann::json::array(), relaxations = nlohmann::json::array();
  for (const Blocker& b : why.blockers)
    blockers.push_back({{"name", b.name}, {"what", b.what}, {"bytes", b.bytes}});
  for (const Relaxation& r : why.relaxations) {
    nlohmann::json entry{{"change", r.change}, {"fits", r.seconds.has_value()}};
    if (r.seconds) entry["seconds"] = *r.seconds;
    if (r.needs_bytes) entry["needs_bytes"] = *r.needs_bytes;
    if (r.smallest_limit_bytes) entry["smallest_limit_bytes"] = *r.smallest_limit_bytes;
    relaxations.push_back(std::move(entry));
  }
  return {{"fits", false},
          {"limit_bytes", why.limit_bytes},
          {"smallest_limit_bytes", why.smallest_limit_bytes},
          {"pass", why.pass},
          {"pass_name", why.pass_name},
          {"blockers", std::move(blockers)},
          {"relaxations", std::move(relaxations)}};
}

}  // namespace headroom::planner
