#include "planner/explain/untiled_peak.h"

#include <nlohmann/json.hpp>

#include "decoder/base/amounts.h"
#include "decoder/base/short_name.h"
#include "decoder/schedule/build_plan.h"
#include "profiler/eager/eager_decode.h"

namespace headroom::planner {

UntiledPeak untiled_peak(const Model& model, const Request& request, const CostModel& costs) {
  const std::optional<profiler::EagerDecode> eager = profiler::eager_decode(model, request);
  if (!eager) {
    const Plan plan = untiled_plan(model, request);
    return {plan.predicted_peak_bytes +
            reserve_bytes(model.graph, sizes_of(model.graph, plan), costs.memory())};
  }
  UntiledPeak untiled{eager->peak_bytes, true, model.graph.op(eager->peak_layer).name};
  for (const profiler::EagerTensor& tensor : eager->peak_live)
    untiled.live.push_back({tensor.name, tensor.bytes});
  return untiled;
}

nlohmann::json to_json(const UntiledPeak& untiled) {
  nlohmann::json out{{"peak_bytes", untiled.bytes}, {"by_diffusers", untiled.by_diffusers}};
  if (!untiled.by_diffusers) return out;
  out["layer"] = untiled.layer;
  out["live"] = nlohmann::json::array();
  for (const UntiledTensor& tensor : untiled.live)
    out["live"].push_back({{"name", tensor.name}, {"bytes", tensor.bytes}});
  return out;
}

std::string above_untiled_remark(const Plan& plan, const Model& model) {
  const Request& request = plan.request;
  if (!device_record(request.device).is_host || request.dtype == Dtype::fp32 || !plan.share.alone())
    return "";
  const UntiledPeak untiled = untiled_peak(model, request, CostModel(model.graph, request.device));
  if (plan.predicted_peak_bytes <= untiled.bytes) return "";
  return "more than the untiled decode (" + format_bytes(untiled.bytes) +
         "): on the CPU tiles and weights are fp32, only kept tensors are in 16 bits. A smaller limit takes "
         "less";
}

std::string untiled_line(const UntiledPeak& untiled) {
  if (!untiled.by_diffusers) return "untiled: about " + format_bytes(untiled.bytes);
  return "untiled, by diffusers: " + format_bytes(untiled.bytes) + " at " + short_name(untiled.layer);
}

}  // namespace headroom::planner
