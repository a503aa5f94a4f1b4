#include "reports/figures/decoder_picture.h"

#include <algorithm>
#include <map>
#include <set>

#include "decoder/base/short_name.h"
#include "decoder/graph/geometry.h"
#include "decoder/operations/operation.h"
#include "planner/explain/explain.h"
#include "reports/figures/passes.h"
#include "reports/figures/timeline.h"

namespace headroom::reports {
namespace {

/// True if an operation needs this whole input before it produces any output.
bool needs_whole(const Graph& graph, const Op& op, size_t input) {
  return !takes_statistics(op.kind) && !graph.tensor(op.inputs[input]).statistics && is_barrier(op, input);
}

bool needs_any_whole(const Graph& graph, const Op& op) {
  for (size_t input = 0; input < op.inputs.size(); ++input) {
    if (needs_whole(graph, op, input)) return true;
  }
  return false;
}

/// Draws the steps of one pass.
class PassDrawing {
 public:
  PassDrawing(const PlanDocument& document, size_t number, std::set<OpId>& carried_out,
              DecoderPicture& picture)
      : graph_(document.model.graph),
        pass_(document.plan.passes[number]),
        number_(number),
        carried_out_(carried_out),
        picture_(picture),
        first_(picture.nodes.size()) {}

  /// Returns the node of each step.
  std::vector<size_t> draw() {
    for (const Step& step : pass_.steps) node_of_step_.push_back(draw_step(step));
    place_reads();
    give_lanes();
    for (DrawnEdge& edge : picture_.edges) {
      if (edge.from < first_) continue;
      edge.skips = picture_.nodes[edge.to].column > picture_.nodes[edge.from].column + 1;
    }
    return node_of_step_;
  }

 private:
  DrawnNode& node(size_t i) { return picture_.nodes[i]; }

  size_t add(const DrawnNode& drawn) {
    picture_.nodes.push_back(drawn);
    picture_.nodes.back().pass = number_;
    return picture_.nodes.size() - 1;
  }

  void connect(size_t from, size_t to, TensorId tensor) {
    picture_.edges.push_back({from, to, tensor});
    node(to).column = std::max(node(to).column, node(from).column + 1);
  }

  /// Node that provides the operand. None for statistics, which earlier passes completed.
  std::optional<size_t> source(const Operand& operand) {
    if (operand.step >= 0) return node_of_step_[static_cast<size_t>(operand.step)];
    if (graph_.tensor(operand.tensor).statistics) return {};
    const auto [found, is_new] = whole_.try_emplace(operand.tensor, picture_.nodes.size());
    if (is_new) add({.kind = DrawnKind::read, .tensor = operand.tensor});
    return found->second;
  }

  /// Draws an operation with these operands and returns its node.
  size_t draw_op(OpId op, TensorId tensor, const std::vector<Operand>& inputs) {
    const Op& of = graph_.op(op);
    std::vector<std::pair<size_t, TensorId>> from;
    for (const Operand& operand : inputs) {
      if (const auto found = source(operand)) from.emplace_back(*found, operand.tensor);
    }
    const bool first = carried_out_.insert(op).second;
    const size_t drawn = add({.kind = DrawnKind::operation,
                              .op = op,
                              .tensor = tensor,
                              .again = !first,
                              .ends_pass = takes_statistics(of.kind),
                              .needs_whole = needs_any_whole(graph_, of)});
    for (const auto& [node_from, of_tensor] : from) connect(node_from, drawn, of_tensor);
    return drawn;
  }

  size_t write(size_t from, TensorId tensor) {
    const size_t drawn = add({.kind = DrawnKind::write, .tensor = tensor});
    connect(from, drawn, tensor);
    return drawn;
  }

  /// The node that later steps read.
  size_t draw_step(const Step& step) {
    if (step.op == OpId{-1}) {  // gather, store, emit
      const size_t from = source(step.inputs.front()).value();
      if (step.kind == OpKind::gather) return from;
      const size_t written = write(from, step.tensor);
      if (step.kind == OpKind::store) whole_[step.tensor] = from;
      return written;
    }
    std::vector<Operand> inputs = step.inputs;
    size_t made = 0;
    if (step.add == OpId{-1}) {
      made = draw_op(step.op, step.tensor, inputs);
    } else {
      const Operand other = inputs.back();
      inputs.pop_back();
      made = draw_op(step.op, graph_.op(step.op).output, inputs);
      const std::optional<size_t> beside = source(other);
      carried_out_.insert(step.add);
      const size_t sum = add({.kind = DrawnKind::operation, .op = step.add, .tensor = step.tensor});
      connect(made, sum, graph_.op(step.op).output);
      if (beside) connect(*beside, sum, other.tensor);
      made = sum;
    }
    const bool keeps = step.kind == OpKind::accumulate || step.target != StepTarget::tile;
    if (keeps) {
      write(made, step.tensor);
      whole_[step.tensor] = made;
    }
    return made;
  }

  /// Places each read tensor one column before its first reader.
  void place_reads() {
    for (size_t i = first_; i < picture_.nodes.size(); ++i) {
      if (node(i).kind != DrawnKind::read) continue;
      size_t reader = SIZE_MAX;
      for (const DrawnEdge& edge : picture_.edges) {
        if (edge.from == i) reader = std::min(reader, node(edge.to).column);
      }
      if (reader != SIZE_MAX) node(i).column = reader - 1;
    }
  }

  /// Assigns lanes. Nodes with the longest path behind them come first, so the main path stays in lane 0.
  void give_lanes() {
    std::map<size_t, std::vector<size_t>> columns;
    for (size_t i = first_; i < picture_.nodes.size(); ++i) columns[node(i).column].push_back(i);
    const auto rank = [&](size_t i) { return node(i).kind == DrawnKind::operation ? 0 : 1; };
    for (auto& [column, members] : columns) {
      std::stable_sort(members.begin(), members.end(), [&](size_t a, size_t b) { return rank(a) < rank(b); });
      for (size_t lane = 0; lane < members.size(); ++lane) node(members[lane]).lane = lane;
    }
  }

  const Graph& graph_;
  const Pass& pass_;
  const size_t number_;
  std::set<OpId>& carried_out_;
  DecoderPicture& picture_;
  const size_t first_;
  std::vector<size_t> node_of_step_;
  std::map<TensorId, size_t> whole_;  ///< node of each kept tensor, from an earlier pass or this one
};

std::string stage_of(const std::string& name) {
  const std::string shown = short_name(name);
  return shown.substr(0, shown.find('.'));
}

/// True if the pass makes statistics, or a tensor that a later operation needs whole.
bool has_barrier_after(const Graph& graph, const Pass& pass) {
  for (const Step& step : pass.steps) {
    if (step.op != OpId{-1} && takes_statistics(graph.op(step.op).kind)) return true;
    if (step.kind != OpKind::store && step.kind != OpKind::accumulate && step.target == StepTarget::tile)
      continue;
    for (const OpId reader : graph.readers(step.tensor)) {
      const Op& op = graph.op(reader);
      for (size_t input = 0; input < op.inputs.size(); ++input) {
        if (op.inputs[input] == step.tensor && needs_whole(graph, op, input)) return true;
      }
    }
  }
  return false;
}

/// The last tensor that a pass makes, without statistics, which have no positions.
TensorId made_last(const Graph& graph, const Pass& pass) {
  for (auto step = pass.steps.rbegin(); step != pass.steps.rend(); ++step) {
    if (!graph.tensor(step->tensor).statistics) return step->tensor;
  }
  return graph.input();
}

/// `nodes` has the node of each step.
DrawnPass drawn_pass(const PlanDocument& document, size_t number, const MemoryModel& memory,
                     const std::vector<size_t>& nodes) {
  const Graph& graph = document.model.graph;
  const Plan& plan = document.plan;
  const Pass& pass = plan.passes[number];
  const Tensor& made = graph.tensor(made_last(graph, pass));
  DrawnPass drawn;
  drawn.name = pass.name;
  drawn.stage = stage_of(pass.name);
  drawn.channels = made.channels;
  drawn.extent = extent_of(made, sizes_of(graph, plan).latent);
  drawn.seconds = pass.predicted_seconds;
  drawn.peak_bytes = pass.predicted_peak_bytes;
  drawn.ends_at_barrier = has_barrier_after(graph, pass);
  if (pass.tiles.y.empty() || pass.steps.empty()) return drawn;
  const PassSweep sweep(graph, plan, number, memory);
  const SweepPoint point = sweep.peak().point;
  drawn.use = use_of(sweep.live(point), device_record(plan.request.device));
  drawn.live = planner::live_at(plan, graph, number, sweep, point);
  drawn.peak_tile = point.band * pass.tiles.x.size() + (point.later_tile && pass.tiles.x.size() > 1 ? 1 : 0);
  drawn.peak_node = nodes[point.step];
  drawn.peak_step = planner::step_text(pass.steps[point.step], graph);
  return drawn;
}

/// The lowest lane that is free in all passes of `entry`.
size_t free_lane(const std::vector<DrawnKept>& kept, const DrawnKept& entry) {
  for (size_t lane = 0;; ++lane) {
    const bool taken = std::any_of(kept.begin(), kept.end(), [&](const DrawnKept& other) {
      return other.lane == lane && other.first_pass <= entry.last_pass && entry.first_pass <= other.last_pass;
    });
    if (!taken) return lane;
  }
}

void draw_kept(const PlanDocument& document, DecoderPicture& picture) {
  const Graph& graph = document.model.graph;
  for (const KeptSpan& span : kept_spans(document)) {
    DrawnKept entry;
    entry.tensor = graph.find_tensor(span.tensor);
    entry.tier = span.tier;
    entry.bytes = span.bytes;
    entry.first_pass = static_cast<size_t>(span.first_pass);
    entry.last_pass = static_cast<size_t>(span.last_pass);
    entry.read_in.assign(span.read_in.begin(), span.read_in.end());
    if (!span.in_place_of.empty()) entry.in_place_of = graph.find_tensor(span.in_place_of);
    for (const LiveEntry& live : picture.passes[picture.peak_pass].live) {
      if (live.kind == MemoryKind::kept && live.name == span.tensor) entry.bytes_at_peak = live.bytes;
    }
    entry.lane = free_lane(picture.kept, entry);
    picture.kept_lanes = std::max(picture.kept_lanes, entry.lane + 1);
    picture.kept.push_back(std::move(entry));
  }
}

}  // namespace

DecoderPicture decoder_picture(const PlanDocument& document, const RunStats* run) {
  const Plan& plan = document.plan;
  DecoderPicture picture;
  picture.limit_bytes = plan.limit_bytes;
  const MemoryModel memory = planner::memory_model_of_plan(plan, document.model.graph);
  std::set<OpId> carried_out;
  for (size_t i = 0; i < plan.passes.size(); ++i) {
    const size_t first = picture.nodes.size();
    const std::vector<size_t> nodes = PassDrawing(document, i, carried_out, picture).draw();
    picture.passes.push_back(drawn_pass(document, i, memory, nodes));
    DrawnPass& pass = picture.passes.back();
    if (run != nullptr && i < run->passes.size()) pass.measured = run->passes[i];
    if (pass.peak_bytes > picture.passes[picture.peak_pass].peak_bytes) picture.peak_pass = i;
    pass.first_node = first;
    pass.nodes = picture.nodes.size() - pass.first_node;
  }
  if (picture.passes.empty()) return picture;
  picture.passes[picture.peak_pass].decides_peak = true;
  draw_kept(document, picture);
  return picture;
}

std::string label_of(const DecoderPicture& picture, const DrawnNode& node, const Graph& graph) {
  if (node.tensor == graph.input()) return graph.encodes() ? "picture" : "latent";
  if (node.kind == DrawnKind::write && node.tensor == graph.output())
    return graph.encodes() ? "latent" : "picture";
  std::string shown =
      short_name(node.kind == DrawnKind::operation ? graph.op(node.op).name : graph.tensor(node.tensor).name);
  const std::string stage = picture.passes[node.pass].stage + ".";
  if (shown.starts_with(stage)) shown.erase(0, stage.size());
  return shown;
}

std::string shape_text(int64_t channels, const Extent& extent) {
  std::string text = std::to_string(channels) + " × ";
  if (extent.t > 1) text += std::to_string(extent.t) + " × ";
  return text + std::to_string(extent.y) + " × " + std::to_string(extent.x);
}

}  // namespace headroom::reports
