#include "planner/explain/diff.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "decoder/base/amounts.h"
#include "planner/explain/explain.h"
#include "planner/explain/schedule.h"

namespace headroom::planner {
namespace {

using nlohmann::json;

/// Values by key, in display order.
using Values = std::vector<std::pair<std::string, json>>;

Values values_of(const Plan& plan) {
  const Request& request = plan.request;
  return {{"predicted.peak_bytes", plan.predicted_peak_bytes},
          {"predicted.seconds", plan.predicted_seconds},
          {"limit_bytes", plan.limit_bytes},
          {"request.model", request.model},
          {"request.width_pixels", request.width_pixels},
          {"request.height_pixels", request.height_pixels},
          {"request.frames", request.frames},
          {"request.batch", request.batch},
          {"request.dtype", name_of(request.dtype)},
          {"request.tf32", name_of(request.tf32)},
          {"request.device", name_of(request.device)},
          {"micro_batch", plan.micro_batch},
          {"weights", name_of(plan.weights)},
          {"weights_bytes", plan.weights_bytes},
          {"reserve_bytes", plan.reserve_bytes},
          {"host_limit_bytes", plan.host_limit_bytes},
          {"host_weights_bytes", plan.host_weights_bytes},
          {"scratch.limit_bytes", plan.scratch_limit_bytes},
          {"scratch.folder", plan.scratch_folder},
          {"bound_seconds", plan.bound_seconds},
          {"optimal", plan.optimal},
          {"exact", plan.exact},
          {"assumed", plan.assumed},
          {"environment.device", plan.environment.device},
          {"environment.libraries", plan.environment.libraries}};
}

Values values_of(const KeptTensor& kept, const Graph& graph) {
  const bool taken = kept.in_place_of != TensorId{-1};
  return {{"tier", name_of(kept.tier)},
          {"first_pass", kept.first_pass},
          {"last_pass", kept.last_pass},
          {"in_place_of", taken ? json(graph.tensor(kept.in_place_of).name) : json(nullptr)},
          {"block_rows", kept.block_rows},
          {"rows", kept.rows ? json{kept.rows->begin, kept.rows->end} : json(nullptr)}};
}

/// The text of a step, with its padding and its inputs.
std::string whole_step_text(const Step& step, const Graph& graph) {
  std::string text = step_text(step, graph);
  if (step.pad != Axes<int32_t>{}) {
    text += " pad " + std::to_string(step.pad.t) + "," + std::to_string(step.pad.y) + "," +
            std::to_string(step.pad.x);
    if (step.edges != Edges::zeros) text += std::string(" ") + name_of(step.edges);
  }
  for (const Operand& input : step.inputs) {
    text += " <- " + graph.tensor(input.tensor).name + (input.step == -1 ? "" : " (tile)");
  }
  return text;
}

Values values_of(const Pass& pass, const Graph& graph) {
  return {{"predicted.peak_bytes", pass.predicted_peak_bytes},
          {"predicted.seconds", pass.predicted_seconds},
          {"predicted.flops", pass.predicted_flops},
          {"scale", {pass.scale.t, pass.scale.y, pass.scale.x}},
          {"convolutions", name_of(pass.convolutions.algorithm)},
          {"direct_convolutions", direct_names(pass, graph)},
          {"tiles", tiles_text(pass)}};
}

std::vector<Difference> compared(const Values& a, const Values& b) {
  std::vector<Difference> list;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].second != b[i].second) list.push_back({a[i].first, a[i].second, b[i].second});
  }
  return list;
}

/// Values of a part that only one plan has.
std::vector<Difference> alone(const Values& values, PartDifference::Side side) {
  std::vector<Difference> list;
  for (const auto& [key, value] : values) {
    if (value.is_null()) continue;
    list.push_back(side == PartDifference::only_a ? Difference{key, value, nullptr}
                                                  : Difference{key, nullptr, value});
  }
  return list;
}

/// Steps in `steps` that are missing from `others`, counting repetitions.
json steps_beyond(const std::vector<std::string>& steps, const std::vector<std::string>& others) {
  std::map<std::string, int64_t> left;
  for (const std::string& step : others) ++left[step];
  json list = json::array();
  for (const std::string& step : steps) {
    if (--left[step] < 0) list.push_back(step);
  }
  return list;
}

std::vector<std::string> step_texts(const Pass& pass, const Graph& graph) {
  std::vector<std::string> list;
  for (const Step& step : pass.steps) list.push_back(whole_step_text(step, graph));
  return list;
}

/// Compares passes of graphs whose ids may differ. Details that the texts omit are compared by id, and only
/// if both plans use the same graph.
std::vector<Difference> compared(const Pass& a, const Graph& graph_a, const Pass& b, const Graph& graph_b) {
  std::vector<Difference> list = compared(values_of(a, graph_a), values_of(b, graph_b));
  const bool tiles_reported =
      std::any_of(list.begin(), list.end(), [](const Difference& d) { return d.key == "tiles"; });
  if (!tiles_reported && !(a.tiles == b.tiles))
    list.push_back({"tiles", tiles_text(a), tiles_text(b) + ", cut elsewhere"});
  const std::vector<std::string> steps_a = step_texts(a, graph_a), steps_b = step_texts(b, graph_b);
  const bool same_wiring = std::equal(
      a.steps.begin(), a.steps.end(), b.steps.begin(), b.steps.end(), [](const Step& s, const Step& o) {
        return s.halo == o.halo &&
               std::equal(s.inputs.begin(), s.inputs.end(), o.inputs.begin(), o.inputs.end(),
                          [](const Operand& i, const Operand& k) { return i.step == k.step; });
      });
  if (steps_a != steps_b || !same_wiring) {
    const json more_a = steps_beyond(steps_a, steps_b), more_b = steps_beyond(steps_b, steps_a);
    const bool moved = more_a.empty() && more_b.empty();
    list.push_back(moved
                       ? Difference{"steps", "same steps", "same steps in another order or with other inputs"}
                       : Difference{"steps", more_a, more_b});
  }
  return list;
}

void compare_kept(const Plan& a, const Graph& graph_a, const Plan& b, const Graph& graph_b, PlanDiff& diff) {
  std::vector<bool> matched(b.kept.size(), false);
  for (const KeptTensor& entry : a.kept) {
    const std::string& name = graph_a.tensor(entry.tensor).name;
    size_t other = 0;
    while (other < b.kept.size() && (matched[other] || graph_b.tensor(b.kept[other].tensor).name != name))
      ++other;
    if (other == b.kept.size()) {
      diff.kept.push_back(
          {name, -1, PartDifference::only_a, alone(values_of(entry, graph_a), PartDifference::only_a)});
      continue;
    }
    matched[other] = true;
    std::vector<Difference> values = compared(values_of(entry, graph_a), values_of(b.kept[other], graph_b));
    if (!values.empty()) {
      diff.kept.push_back({name, -1, PartDifference::both, std::move(values)});
    } else {
      ++diff.same_kept;
    }
  }
  for (size_t i = 0; i < b.kept.size(); ++i) {
    if (matched[i]) continue;
    diff.kept.push_back({graph_b.tensor(b.kept[i].tensor).name, -1, PartDifference::only_b,
                         alone(values_of(b.kept[i], graph_b), PartDifference::only_b)});
  }
}

void compare_passes(const Plan& a, const Graph& graph_a, const Plan& b, const Graph& graph_b,
                    PlanDiff& diff) {
  std::vector<PartDifference>& list = diff.passes;
  for (size_t i = 0; i < std::max(a.passes.size(), b.passes.size()); ++i) {
    const auto number = static_cast<int64_t>(i);
    const Pass* left = i < a.passes.size() ? &a.passes[i] : nullptr;
    const Pass* right = i < b.passes.size() ? &b.passes[i] : nullptr;
    if (left != nullptr && right != nullptr && left->name == right->name) {
      std::vector<Difference> values = compared(*left, graph_a, *right, graph_b);
      if (values.empty()) {
        ++diff.same_passes;
      } else {
        list.push_back({left->name, number, PartDifference::both, std::move(values)});
      }
      continue;
    }
    if (left != nullptr)
      list.push_back({left->name, number, PartDifference::only_a,
                      alone(values_of(*left, graph_a), PartDifference::only_a)});
    if (right != nullptr)
      list.push_back({right->name, number, PartDifference::only_b,
                      alone(values_of(*right, graph_b), PartDifference::only_b)});
  }
}

/// b ÷ a for bytes, seconds and FLOPs. Unset for other keys.
std::optional<double> ratio(const Difference& difference) {
  const std::string& key = difference.key;
  const bool measures = key.ends_with("bytes") || key.ends_with("seconds") || key.ends_with("flops");
  if (!measures || !difference.a.is_number() || !difference.b.is_number() || difference.a.get<double>() <= 0)
    return std::nullopt;
  return difference.b.get<double>() / difference.a.get<double>();
}

std::string line_text(const Difference& difference) {
  std::string text = key_text(difference.key) + "  " + value_text(difference.key, difference.a) + " -> " +
                     value_text(difference.key, difference.b);
  if (const std::optional<double> times = ratio(difference)) {
    char factor[64];
    std::snprintf(factor, sizeof factor, "  (%.3g times)", *times);
    text += factor;
  }
  return text;
}

void part_text(const PartDifference& part, const std::string& title, std::string& text) {
  text += title;
  if (part.side != PartDifference::both) {
    text += part.side == PartDifference::only_a ? "  only in A:" : "  only in B:";
    const char* separator = " ";
    for (const Difference& d : part.values) {
      text += separator + key_text(d.key) + " " +
              value_text(d.key, part.side == PartDifference::only_a ? d.a : d.b);
      separator = ", ";
    }
    text += "\n";
    return;
  }
  text += "\n";
  for (const Difference& d : part.values) {
    if (d.key == "steps" && d.a.is_array()) {
      for (const json& step : d.a) text += "   - " + step.get<std::string>() + "\n";
      for (const json& step : d.b) text += "   + " + step.get<std::string>() + "\n";
    } else {
      text += "   " + line_text(d) + "\n";
    }
  }
}

json to_json(const std::vector<Difference>& values) {
  json list = json::array();
  for (const Difference& d : values) {
    list.push_back({{"key", d.key}, {"a", d.a}, {"b", d.b}});
    if (const std::optional<double> times = ratio(d)) list.back()["ratio"] = *times;
  }
  return list;
}

json to_json(const std::vector<PartDifference>& parts, const char* name) {
  json list = json::array();
  for (const PartDifference& part : parts) {
    const char* side = part.side == PartDifference::both     ? "both"
                       : part.side == PartDifference::only_a ? "a"
                                                             : "b";
    list.push_back({{name, part.name}, {"in", side}, {"values", to_json(part.values)}});
    if (part.pass >= 0) list.back()["pass"] = part.pass;
  }
  return list;
}

}  // namespace

PlanDiff diff_plans(const Plan& a, const Graph& graph_a, const Plan& b, const Graph& graph_b) {
  PlanDiff diff;
  diff.whole = compared(values_of(a), values_of(b));
  if (a.engines != b.engines) {
    const bool same_count = a.engines.size() == b.engines.size();
    diff.whole.push_back({"engines", std::to_string(a.engines.size()),
                          std::to_string(b.engines.size()) + (same_count ? ", not the same" : "")});
  }
  compare_kept(a, graph_a, b, graph_b, diff);
  compare_passes(a, graph_a, b, graph_b, diff);
  return diff;
}

std::string key_text(std::string key) {
  for (const char* unit : {"_bytes", "_pixels", "_items"}) {
    if (key.ends_with(unit)) key.resize(key.size() - std::string(unit).size());
  }
  if (key == "predicted.seconds") return "predicted time";
  if (key == "bound_seconds") return "bound";
  std::replace(key.begin(), key.end(), '.', ' ');
  std::replace(key.begin(), key.end(), '_', ' ');
  return key;
}

std::string value_text(const std::string& key, const json& value) {
  if (value.is_null()) return "none";
  for (const WeightResidency residency : {WeightResidency::resident, WeightResidency::per_pass})
    if (key == "weights" && value == name_of(residency)) return words_of(residency);
  if (value.is_string()) return value.get<std::string>().empty() ? "none" : value.get<std::string>();
  if (value.is_number() && key.ends_with("bytes")) return format_bytes(value.get<int64_t>());
  if (value.is_number() && key.ends_with("seconds")) return format_seconds(value.get<double>());
  if (value.is_number() && key.ends_with("flops")) return gflops_text(value.get<double>());
  return value.dump();
}

std::string to_text(const PlanDiff& diff) {
  if (diff.empty()) return "no difference\n";
  std::string text;
  for (const Difference& d : diff.whole) text += line_text(d) + "\n";
  for (const PartDifference& part : diff.kept) part_text(part, "kept " + part.name, text);
  for (const PartDifference& part : diff.passes)
    part_text(part, "Pass " + std::to_string(part.pass) + "  " + part.name, text);
  text += "the same: " + counted(static_cast<int64_t>(diff.same_kept), "kept tensor") + ", " +
          std::to_string(diff.same_passes) + (diff.same_passes == 1 ? " pass\n" : " passes\n");
  return text;
}

json to_json(const PlanDiff& diff) {
  return {{"equal", diff.empty()},
          {"whole", to_json(diff.whole)},
          {"kept", to_json(diff.kept, "tensor")},
          {"passes", to_json(diff.passes, "name")},
          {"same_kept", diff.same_kept},
          {"same_passes", diff.same_passes}};
}

}  // namespace headroom::planner
