#include "planner/cost/seconds_range.h"

#include <algorithm>

#include "decoder/base/amounts.h"
#include "decoder/schedule/build_plan.h"
#include "profiler/profile/time_error.h"

namespace headroom::planner {

namespace {

std::string counted(int32_t decodes) {
  return decodes == 1 ? "1 decode" : std::to_string(decodes) + " decodes";
}

}  // namespace

void set_seconds_range(Plan& plan, const Graph& graph, const CostModel& costs) {
  const LatencyLookup* tables = costs.latency_tables();
  if (tables == nullptr) return;
  const Sizes sizes = sizes_of(graph, plan);
  const auto micro_batches = double(plan.request.batch) / double(plan.micro_batch);
  profiler::ErrorSum sum;
  for (const Pass& pass : plan.passes) {
    const Extent tile = cut_tile(graph, pass);
    for (const Step& step : pass.steps) {
      sum.add(tables->of(step, pass.convolutions.of(step.op)),
              costs.step_seconds(pass, step, tile, sizes) * micro_batches);
    }
  }
  // The rest of the predicted time: loading weights, transfers and waits.
  sum.add(std::max(0.0, plan.predicted_seconds - sum.seconds()));
  const double within = sum.within(costs.common_error());
  plan.predicted_seconds_low = plan.predicted_seconds * std::max(0.0, 1 - within);
  plan.predicted_seconds_high = plan.predicted_seconds * (1 + within);
}

void correct_seconds(Plan& plan, const LearntSeconds& learnt) {
  if (plan.learnt.decodes > 0 || learnt.decodes == 0) return;
  plan.learnt = learnt;
  for (double* seconds : {&plan.predicted_seconds, &plan.predicted_seconds_low, &plan.predicted_seconds_high,
                          &plan.bound_seconds})
    *seconds *= learnt.ratio;
  for (Pass& pass : plan.passes) pass.predicted_seconds *= learnt.ratio;
}

std::string seconds_text(const Plan& plan) {
  std::string text = format_seconds(plan.predicted_seconds);
  if (plan.predicted_seconds_high <= 0) return text;
  return text + " (" + format_seconds(plan.predicted_seconds_low) + " to " +
         format_seconds(plan.predicted_seconds_high) + ")";
}

std::string costs_text(const Plan& plan) {
  if (!plan.assumed) return "by the profile";
  if (plan.learnt.decodes > 0) return "by costs learnt from " + counted(plan.learnt.decodes) + " here";
  const std::string whose = device_record(plan.request.device).assumed_costs;
  return "by assumed costs" + (whose.empty() ? "" : " of " + whose);
}

}  // namespace headroom::planner
