#include <nlohmann/json.hpp>

#include "decoder/plan/engine_choice_file.h"
#include "decoder/plan/plan_file.h"
#include "decoder/plan/sizes.h"

namespace headroom {
namespace {

using nlohmann::json;

json axes_to_json(const Axes<int32_t>& axes) {
  return json::array({axes.t, axes.y, axes.x});
}

json intervals_to_json(const std::vector<Interval>& intervals) {
  json list = json::array();
  for (const Interval& interval : intervals) list.push_back({interval.begin, interval.end});
  return list;
}

json kept_to_json(const KeptTensor& kept, const Plan& plan, const Graph& graph) {
  json out{{"tensor", graph.tensors().at(index(kept.tensor)).name},
           {"tier", name_of(kept.tier)},
           {"bytes", kept_bytes(graph, plan, kept)},
           {"block_rows", kept.block_rows},
           {"first_pass", kept.first_pass},
           {"last_pass", kept.last_pass}};
  if (kept.rows) out["rows"] = {kept.rows->begin, kept.rows->end};
  if (kept.in_place_of != TensorId{-1}) {
    out["in_place_of"] = graph.tensors().at(index(kept.in_place_of)).name;
  }
  return out;
}

json step_to_json(const Step& step, const Graph& graph) {
  json out{{"kind", name_of(step.kind)},
           {"tensor", graph.tensors().at(index(step.tensor)).name},
           {"inputs", json::array()}};
  if (step.op != OpId{-1}) out["op"] = graph.ops().at(index(step.op)).name;
  for (const Operand& input : step.inputs) {
    json operand{{"tensor", graph.tensors().at(index(input.tensor)).name}};
    if (input.step != -1) operand["step"] = input.step;
    out["inputs"].push_back(std::move(operand));
  }
  if (step.halo != Halo{}) {
    out["halo"] = {{"before", axes_to_json(step.halo.before)}, {"after", axes_to_json(step.halo.after)}};
  }
  if (step.pad != Axes<int32_t>{}) out["pad"] = axes_to_json(step.pad);
  if (step.edges != Edges::zeros) out["edges"] = name_of(step.edges);
  if (step.add != OpId{-1}) out["add"] = graph.ops().at(index(step.add)).name;
  if (step.target != StepTarget::tile) out["target"] = name_of(step.target);
  return out;
}

json pass_to_json(const Pass& pass, const Graph& graph) {
  json steps = json::array();
  for (const Step& step : pass.steps) steps.push_back(step_to_json(step, graph));
  json out{{"name", pass.name},
           {"scale", axes_to_json(pass.scale)},
           {"convolutions", name_of(pass.convolutions.algorithm)},
           {"tiles",
            {{"t", intervals_to_json(pass.tiles.t)},
             {"y", intervals_to_json(pass.tiles.y)},
             {"x", intervals_to_json(pass.tiles.x)}}},
           {"steps", std::move(steps)},
           {"predicted",
            {{"peak_bytes", pass.predicted_peak_bytes},
             {"seconds", pass.predicted_seconds},
             {"flops", pass.predicted_flops}}}};
  if (pass.carries_rows) out["carries_rows"] = true;
  for (const OpId op : pass.convolutions.direct)
    out["direct_convolutions"].push_back(graph.ops().at(index(op)).name);
  return out;
}

}  // namespace

json to_json(const Request& request) {
  json out{{"model", request.model},
           {"width_pixels", request.width_pixels},
           {"height_pixels", request.height_pixels},
           {"frames", request.frames},
           {"batch", request.batch},
           {"dtype", name_of(request.dtype)},
           {"device", name_of(request.device)}};
  if (encodes(request.direction)) out["direction"] = name_of(request.direction);
  if (request.tf32.any()) out["tf32"] = name_of(request.tf32);
  if (request.picture_dtype) out["picture_dtype"] = name_of(*request.picture_dtype);
  return out;
}

namespace {

json predicted_json(const Plan& plan) {
  json out{{"peak_bytes", plan.predicted_peak_bytes}, {"seconds", plan.predicted_seconds}};
  if (plan.learnt.decodes > 0)
    out["learnt"] = {{"decodes", plan.learnt.decodes}, {"ratio", plan.learnt.ratio}};
  if (plan.predicted_seconds_high <= 0) return out;
  out["seconds_low"] = plan.predicted_seconds_low;
  out["seconds_high"] = plan.predicted_seconds_high;
  return out;
}

}  // namespace

json to_json(const Plan& plan, const Graph& graph) {
  json kept = json::array();
  for (const KeptTensor& entry : plan.kept) kept.push_back(kept_to_json(entry, plan, graph));
  json passes = json::array();
  for (const Pass& pass : plan.passes) passes.push_back(pass_to_json(pass, graph));
  json out{{"schema", "headroom.plan"},
           {"version", kPlanVersion},
           {"request", to_json(plan.request)},
           {"limit_bytes", plan.limit_bytes},
           {"micro_batch", plan.micro_batch},
           {"weights", name_of(plan.weights)},
           {"weights_bytes", plan.weights_bytes},
           {"reserve_bytes", plan.reserve_bytes},
           {"predicted", predicted_json(plan)},
           {"bound_seconds", plan.bound_seconds},
           {"optimal", plan.optimal},
           {"exact", plan.exact},
           {"assumed", plan.assumed},
           {"kept", std::move(kept)},
           {"passes", std::move(passes)}};
  if (plan.host_limit_bytes > 0) out["host_limit_bytes"] = plan.host_limit_bytes;
  if (plan.host_weights_bytes > 0) out["host_weights_bytes"] = plan.host_weights_bytes;
  if (!plan.scratch_folder.empty()) {
    out["scratch"] = {{"folder", plan.scratch_folder}, {"limit_bytes", plan.scratch_limit_bytes}};
  }
  if (plan.environment != Environment{}) {
    out["environment"] = {{"device", plan.environment.device}, {"libraries", plan.environment.libraries}};
  }
  if (!plan.engines.empty()) out["engines"] = to_json(plan.engines);
  return out;
}

json to_json(const Plans& group, const Graph& graph) {
  if (!group.for_ranks()) return to_json(group.plans.front(), graph);
  json ranks = json::array(), transfers = json::array();
  for (size_t rank = 0; rank < group.plans.size(); ++rank) {
    const Plan& plan = group.plans[rank];
    const SentBytes& sent = group.sent.at(rank);
    ranks.push_back({{"latent_rows", {plan.share.latent_rows.begin, plan.share.latent_rows.end}},
                     {"sent",
                      {{"rows_bytes", sent.rows_bytes},
                       {"statistics_bytes", sent.statistics_bytes},
                       {"output_bytes", sent.output_bytes}}},
                     {"plan", to_json(plan, graph)}});
  }
  for (const RowTransfer& transfer : group.transfers) {
    transfers.push_back({{"pass", transfer.pass},
                         {"tensor", graph.tensors().at(index(transfer.tensor)).name},
                         {"from", transfer.from},
                         {"to", transfer.to},
                         {"rows", {transfer.rows.begin, transfer.rows.end}}});
  }
  return {{"schema", "headroom.plan"},
          {"version", kGroupVersion},
          {"request", to_json(group.request)},
          {"link", {{"bytes_per_second", group.link.bytes_per_second}, {"seconds", group.link.seconds}}},
          {"predicted",
           {{"seconds", group.predicted_seconds},
            {"peak_bytes", group.peak_bytes()},
            {"sent_bytes", group.sent_bytes()}}},
          {"ranks", std::move(ranks)},
          {"transfers", std::move(transfers)}};
}

}  // namespace headroom
