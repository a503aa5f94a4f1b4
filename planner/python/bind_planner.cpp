#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "decoder/base/amounts.h"
#include "decoder/base/errors.h"
#include "decoder/base/os/process_memory.h"
#include "decoder/files/require_apart.h"
#include "decoder/plan/file_limits.h"
#include "decoder/plan/plan_file.h"
#include "decoder/schedule/build_plan.h"
#include "decoder/validator/validator.h"
#include "planner/answer/planner.h"
#include "planner/answer/stream_plan.h"
#include "planner/cost/seconds_range.h"
#include "planner/explain/peak.h"
#include "planner/explain/remedy.h"
#include "planner/explain/schedule.h"
#include "planner/explain/why_not.h"
#include "planner/python/bindings.h"
#include "planner/python/planned_decode.h"
#include "planner/search/frontier.h"

namespace headroom::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;
using namespace planner;

constexpr int64_t kMostBatch = 4096;

/// Returns the search's memory to the system. glibc keeps freed pages, and the decode needs them.
struct PagesGivenBack {
  ~PagesGivenBack() { return_free_heap(); }
};

/// The planner of one question, and the model that it keeps.
class ModelPlanner {
 public:
  ModelPlanner(std::shared_ptr<const Model> model, Question question)
      : model_(std::move(model)), planner_(*model_, std::move(question)) {}

  int64_t untiled_peak_bytes() const {
    return untiled_peak(*model_, planner_.question().request, planner_.costs()).bytes;
  }
  PlannedDecode smallest() const { return {model_, planner_.smallest()}; }
  /// The fastest plan under the limit. Empty if none fits.
  std::optional<PlannedDecode> plan(std::optional<int64_t> limit_bytes) const {
    std::optional<Plan> found = planner_.fastest_if_any(limit_bytes.value_or(kNoLimit));
    if (!found) return {};
    return PlannedDecode{model_, *std::move(found)};
  }
  /// For a planner of streams. Throws DoesNotFit.
  PlannedStream stream_plan(int64_t block, int64_t streams, std::optional<int64_t> limit_bytes) const {
    return {model_, plan_stream(planner_, {block, streams, limit_bytes.value_or(kNoLimit)})};
  }
  std::pair<std::string, std::string> why_not(int64_t limit_bytes) const {
    const WhyNot why = planner::why_not(planner_.problem_under(limit_bytes), kSecondsToLook);
    return {to_text(why, planner_.question().request), to_json(why).dump()};
  }
  std::string frontier(size_t points) const {
    return to_json(planner::frontier(planner_.problem_under(kNoLimit), points), planner_.question().request,
                   planner_.costs().assumed())
        .dump();
  }

 private:
  std::shared_ptr<const Model> model_;
  Planner planner_;
};

/// A keyword argument, or `otherwise` if it was not given.
template <typename T>
T taken(const nb::kwargs& given, const char* name, T otherwise) {
  return given.contains(name) ? nb::cast<T>(given[name]) : otherwise;
}

void make_planner(ModelPlanner* self, std::shared_ptr<Model> model, const nb::kwargs& asked) {
  Question question;
  Request& request = question.request;
  request.model = model->name;
  request.width_pixels = nb::cast<int64_t>(asked["width"]);
  request.height_pixels = nb::cast<int64_t>(asked["height"]);
  request.frames = taken<int64_t>(asked, "frames", 1);
  request.batch = taken<int64_t>(asked, "batch", 1);
  if (request.batch < 1 || request.batch > kMostBatch)
    throw InputError("batch: expected from 1 to " + std::to_string(kMostBatch) + ", found " +
                     std::to_string(request.batch));
  request.dtype = decoding_dtype(*model, parse_dtype(taken<std::string>(asked, "dtype", "fp32")));
  request.direction = direction_of(model->graph);
  request.device = parse_device(taken<std::string>(asked, "device", "cpu"));
  if (const auto tf32 = taken<std::string>(asked, "tf32", "none"); tf32 != "none")
    request.tf32 = parse_tf32(tf32, "tf32");
  if (const std::string wrong = wrong_tf32(request); !wrong.empty()) throw InputError("tf32: " + wrong);
  if (asked.contains("picture_dtype"))
    request.picture_dtype = parse_dtype(nb::cast<std::string>(asked["picture_dtype"]));
  PlanOptions& options = question.options;
  options.host_limit_bytes = taken<int64_t>(asked, "host_limit_bytes", 0);
  options.scratch_folder = taken<std::string>(asked, "scratch_folder", {});
  options.scratch_limit_bytes = taken<int64_t>(asked, "scratch_limit_bytes", 0);
  options.thrift = taken<double>(asked, "thrift", kDefaultThrift);
  if (taken(asked, "resident_weights", false)) options.weights = WeightResidency::resident;
  set_profile(question, taken<std::string>(asked, "profile", {}));
  if (asked.contains("stream_block"))
    question = stream_question(*model, std::move(question), nb::cast<int64_t>(asked["stream_block"]));
  new (self) ModelPlanner(std::move(model), std::move(question));
}

std::optional<std::pair<double, double>> seconds_range_of(const PlannedDecode& planned) {
  if (planned.plan.predicted_seconds_high <= 0) return std::nullopt;
  return std::pair{planned.plan.predicted_seconds_low, planned.plan.predicted_seconds_high};
}

void bind_plan(nb::module_& module) {
  nb::class_<PlannedDecode>(module, "Plan", "A plan of one decode under a limit.")
      .def_prop_ro("peak_bytes", [](const PlannedDecode& self) { return self.plan.predicted_peak_bytes; })
      .def_prop_ro("seconds", [](const PlannedDecode& self) { return self.plan.predicted_seconds; })
      .def_prop_ro(
          "seconds_range", &seconds_range_of,
          "Range of the decode's seconds, (low, high), with a probability of 90 %. None without a profile.")
      .def_prop_ro("limit_bytes", [](const PlannedDecode& self) { return self.plan.limit_bytes; })
      .def_prop_ro(
          "picture_bytes",
          [](const PlannedDecode& self) { return picture_bytes(self.model->graph, self.plan.request); },
          "Part of the peak for the picture that the decode returns in memory.")
      .def_prop_ro("above_untiled_remark",
                   [](const PlannedDecode& self) { return above_untiled_remark(self.plan, *self.model); })
      .def_prop_ro("returned_text",
                   [](const PlannedDecode& self) {
                     const Request& request = self.plan.request;
                     return returned_text(picture_bytes(self.model->graph, request), request);
                   })
      .def_prop_ro("weights_bytes", [](const PlannedDecode& self) { return self.plan.weights_bytes; })
      .def_prop_ro("scratch_bytes", [](const PlannedDecode& self) { return self.plan.scratch_limit_bytes; })
      .def_prop_ro("optimal", [](const PlannedDecode& self) { return self.plan.optimal; })
      .def_prop_ro("assumed", [](const PlannedDecode& self) { return self.plan.assumed; })
      .def_prop_ro(
          "assumed_text",
          [](const PlannedDecode& self) -> std::string {
            if (!self.plan.assumed) return "";
            return " " + (self.plan.learnt.decodes > 0 ? costs_text(self.plan) : "by assumed costs");
          },
          "Words behind the seconds that name their source. Empty with a profile.")
      .def_prop_ro("dtype", [](const PlannedDecode& self) { return name_of(self.plan.request.dtype); })
      .def_prop_ro(
          "tf32", [](const PlannedDecode& self) { return name_of(self.plan.request.tf32); },
          "Work in fp32 that runs in TF32: 'none', 'convolutions', 'products' or 'all'.")
      .def_prop_ro("tf32_text", [](const PlannedDecode& self) { return after_dtype(self.plan.request.tf32); })
      .def_prop_ro("micro_batch", [](const PlannedDecode& self) { return self.plan.micro_batch; })
      .def_prop_ro("weights_stay",
                   [](const PlannedDecode& self) { return self.plan.weights == WeightResidency::resident; })
      .def(
          "explain", [](const PlannedDecode& self) { return schedule(self.plan, *self.model); },
          "Each pass in order: its inputs, results and released tensors, its time and its peak.")
      .def("json", [](const PlannedDecode& self) { return to_json(self.plan, self.model->graph).dump(); })
      .def(
          "save",
          [](const PlannedDecode& self, const std::string& file) {
            const std::filesystem::path config(self.model->config_file);  // a name alone for a built-in model
            require_apart({{"save:", file}}, {{"the model", config.parent_path().string()}});
            write_plan(file, self.plan, self.model->graph);
          },
          "file"_a, "Writes the plan in the format of headroom-plan.");
}

}  // namespace

void bind_planner(nb::module_& module) {
  bind_plan(module);
  using Release = nb::call_guard<nb::gil_scoped_release, PagesGivenBack>;
  nb::class_<ModelPlanner>(module, "Planner", "Plans for one request.")
      .def(
          "__init__", &make_planner, "model"_a, "asked"_a,
          "Keywords: width, height, and with these defaults frames=1, batch=1, dtype='fp32', "
          "device='cpu', tf32='none', picture_dtype=None (of a picture that stays in memory and counts), "
          "host_limit_bytes=0, scratch_folder='', scratch_limit_bytes=0, resident_weights=False, profile='', "
          "stream_block=None (latent frames of a block of a stream; frames are then those of a block).")
      .def("untiled_peak_bytes", &ModelPlanner::untiled_peak_bytes, Release())
      .def("smallest", &ModelPlanner::smallest, Release())
      .def("plan", &ModelPlanner::plan, "limit_bytes"_a = nb::none(), Release(),
           "The fastest plan under the limit; None if nothing fits.")
      .def("stream_plan", &ModelPlanner::stream_plan, "block"_a, "streams"_a, "limit_bytes"_a = nb::none(),
           Release(),
           "The fastest plan for so many streams under one limit. Raises DoesNotFit with a limit that "
           "suffices.")
      .def("why_not", &ModelPlanner::why_not, "limit_bytes"_a, Release(),
           "The reason that nothing fits: in one line, and as JSON.")
      .def("frontier", &ModelPlanner::frontier, "points"_a, Release());
  module.def("tf32_text", [](const std::string& tf32) {
    return tf32 == "none" ? "" : after_dtype(parse_tf32(tf32, "tf32"));
  });
  module.attr("fewest_sensible_bytes") = kFewestSensibleBytes;
  module.def("parse_bytes", &parse_bytes, "text"_a, "option"_a);
  module.def("parse_share", &parse_share, "text"_a, "option"_a);
  module.attr("default_thrift") = kDefaultThrift;
  module.def("format_bytes", &format_bytes, "bytes"_a);
  module.def("format_seconds", &format_seconds, "seconds"_a);
  module.def("available_bytes", &available_bytes,
             "Memory that this process can take before the system swaps or ends it.");
  module.def("memory_bytes", &memory_bytes, "All memory of the machine, or of the process's control group.");
  module.def("automatic_limit_bytes", &automatic_limit_bytes, nb::arg("available_bytes"),
             "The limit that 'auto' means if this much memory is available.");
}

}  // namespace headroom::python
