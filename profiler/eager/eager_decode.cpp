#include "profiler/eager/eager_decode.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string>

#include "decoder/families/families.h"
#include "decoder/graph/geometry.h"
#include "decoder/operations/operation.h"
#include "profiler/eager/layer_memory.h"

namespace headroom::profiler {
namespace {

/// Simulates the eager decode operation by operation, and tracks the live tensors.
class Walk {
 public:
  Walk(const Model& model, const Request& request, EagerNetwork of)
      : graph_(model.graph),
        setting_{of, request.device, bytes_per_element(request.dtype), request.batch},
        latent_(latent_extent(model, request.width_pixels, request.height_pixels, request.frames)),
        order_(eager_order(graph_, of == EagerNetwork::wan)),
        until_(held_until(graph_, order_)),
        copied_(copied_inputs(graph_, order_)),
        decoded_(made_of_frame(graph_, of)) {
    found_.weights_bytes = parameter_elements(graph_) * setting_.element_bytes;
    found_.layers.resize(graph_.ops().size());
    held_["weights"] = found_.weights_bytes;
    held_[graph_.encodes() ? "picture" : "latent"] =
        bytes_of(graph_.tensor(graph_.input()), latent_, setting_.items, request.dtype);
  }

  EagerDecode run() {
    if (setting_.of == EagerNetwork::wan) {
      run_stage(EagerStage::before_frames, all_frames());
      for (int64_t chunk = 0; chunk < latent_.t; ++chunk) decode_frame(chunk);
      finish();
    } else {
      run_stage(EagerStage::frame, all_frames());
    }
    return std::move(found_);
  }

 private:
  /// Frames that an operation processes: those of one chunk, or all.
  struct Frames {
    int64_t chunk = 0;
    bool all = false;
  };
  static Frames all_frames() { return {0, true}; }

  /// Number of frames of a tensor in a chunk. The first latent frame gives one frame, later ones scale.t
  /// each.
  int64_t count(TensorId id, const Frames& frames) const {
    const Tensor& tensor = graph_.tensor(id);
    if (frames.all) return tensor.statistics ? 1 : extent_of(tensor, latent_).t;
    return frames.chunk == 0 ? 1 : tensor.scale.t;
  }

  int64_t bytes_of_frames(TensorId id, int64_t frames) const {
    const Tensor& tensor = graph_.tensor(id);
    const Extent extent = extent_of(tensor, latent_);
    return setting_.items * tensor.channels * frames * extent.y * extent.x * setting_.element_bytes;
  }

  void run_stage(EagerStage stage, const Frames& frames) {
    for (size_t i = 0; i < order_.size(); ++i) {
      if (stage_of(graph_.op(order_[i]), setting_.of) != stage) continue;
      copy_inputs(i, frames);
      run_operation(i, frames);
      drop_after(i);
    }
  }

  void run_operation(size_t i, const Frames& frames) {
    const Op& op = graph_.op(order_[i]);
    const TensorId input = op.inputs[0];
    const EagerPlace place{.frames_in = count(input, frames),
                           .frames_out = count(op.output, frames),
                           .chunk = frames.chunk,
                           .in = extent_of(graph_.tensor(input), latent_),
                           .out = extent_of(graph_.tensor(op.output), latent_),
                           .channels_last = channels_last_,
                           .input_goes = until_[index(input)] == i};
    const LayerBytes bytes = layer_bytes(graph_, op, setting_, place);
    held_[graph_.tensor(op.output).name] = bytes.output;
    moment(order_[i], bytes.workspace);
    EagerLayer& layer = found_.layers[index(order_[i])];
    if (const int64_t live = live_bytes() + bytes.workspace; live > layer.live_bytes)
      layer = {bytes.output, bytes.workspace, live};
    if (bytes.cached > 0) held_["frames kept for " + op.name] = bytes.cached;
    // A variable in the decoder's code holds this tensor until the end, though nothing reads it.
    if (setting_.of == EagerNetwork::dc && op.name == "decoder.conv_in.sum")
      held_["channels repeated for " + op.name] = bytes.output;
    // Linear attention leaves a channels-last layout, which all later operations keep.
    channels_last_ = channels_last_ || op.kind == OpKind::linear_attention;
  }

  void copy_inputs(size_t i, const Frames& frames) {
    for (const CopiedInput& copied : copied_) {
      if (copied.first == i)
        held_[copy_name(copied)] = bytes_of_frames(copied.tensor, count(copied.tensor, frames));
    }
  }

  std::string copy_name(const CopiedInput& copied) const {
    return "copy of " + graph_.tensor(copied.tensor).name;
  }

  void drop_after(size_t i) {
    for (size_t t = 1; t < until_.size(); ++t) {
      // Tensors made from all frames at once stay until the last frame is decoded.
      if (until_[t] == i &&
          stage_of(graph_.op(graph_.tensors()[t].producer), setting_.of) != EagerStage::before_frames)
        held_.erase(graph_.tensors()[t].name);
    }
    for (const CopiedInput& copied : copied_) {
      if (copied.last == i) held_.erase(copy_name(copied));
    }
  }

  void decode_frame(int64_t chunk) {
    run_stage(EagerStage::frame, {chunk, false});
    join_frames(chunk);
  }

  /// Appends this chunk's frames to the clip, as a new tensor. A variable holds the chunk's frames until the
  /// next chunk is done, except for the first chunk.
  void join_frames(int64_t chunk) {
    const std::string last = "frames decoded last";
    held_.erase(last);
    const int64_t clip = bytes_of_frames(decoded_, 1 + chunk * graph_.tensor(decoded_).scale.t);
    if (chunk > 0) moment(order_.back(), clip);
    const std::string& made = graph_.tensor(decoded_).name;
    if (chunk > 0) held_[last] = held_[made];
    held_.erase(made);
    held_["clip"] = clip;
  }

  /// Runs the operations on all frames, then the final clamp of the values.
  void finish() {
    held_[graph_.tensor(decoded_).name] = held_["clip"];
    held_.erase("clip");
    run_stage(EagerStage::after_frames, all_frames());
    moment(order_.back(), held_[graph_.tensor(graph_.output()).name]);
  }

  int64_t live_bytes() const {
    int64_t live = 0;
    for (const auto& [name, bytes] : held_) live += bytes;
    return live;
  }

  void moment(OpId op, int64_t workspace) {
    const int64_t live = live_bytes() + workspace;
    if (live <= found_.peak_bytes) return;
    found_.peak_bytes = live;
    found_.peak_layer = op;
    found_.peak_live.clear();
    for (const auto& [name, bytes] : held_) {
      if (bytes > 0) found_.peak_live.push_back({name, bytes});
    }
    if (workspace > 0) found_.peak_live.push_back({"workspace", workspace});
    std::stable_sort(found_.peak_live.begin(), found_.peak_live.end(),
                     [](const EagerTensor& a, const EagerTensor& b) { return a.bytes > b.bytes; });
  }

  const Graph& graph_;
  EagerSetting setting_;
  Extent latent_;
  std::vector<OpId> order_;
  std::vector<size_t> until_;
  std::vector<CopiedInput> copied_;
  TensorId decoded_;
  bool channels_last_ = false;
  std::map<std::string, int64_t> held_;
  EagerDecode found_;
};

}  // namespace

std::optional<EagerDecode> eager_decode(const Model& model, const Request& request) {
  const EagerNetwork network = family_of(model.class_name).eager_network;
  if (network == EagerNetwork::none) return std::nullopt;
  if (model.graph.encodes() && network != EagerNetwork::kl) return std::nullopt;
  return Walk(model, request, network).run();
}

namespace {

const std::string kShortcut = ".conv_shortcut";
const std::string kBlockShortcut = ".avg_shortcut";

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool is_number(const std::string& component) {
  return !component.empty() && std::all_of(component.begin(), component.end(),
                                           [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::vector<std::string> components(const std::string& name) {
  std::vector<std::string> parts(1);
  for (const char c : name) {
    if (c == '.')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

/// Modules called on the path to this operation. A module list is not called itself. Sequences are; their
/// names are numbers or `resample`.
std::vector<std::string> called_modules(const std::string& name) {
  const std::vector<std::string> parts = components(name);
  std::vector<std::string> modules;
  std::string path;
  for (size_t i = 0; i < parts.size(); ++i) {
    path += (i > 0 ? "." : "") + parts[i];
    const bool list = i + 1 < parts.size() && is_number(parts[i + 1]) && !is_number(parts[i]);
    if (!list || parts[i] == "resample") modules.push_back(path);
  }
  return modules;
}

struct Module {
  std::set<TensorId> called_with;
  std::set<TensorId> made;
  size_t last = 0;
};

}  // namespace

std::vector<OpId> eager_order(const Graph& graph, bool shortcut_first) {
  std::vector<OpId> order;
  for (size_t i = 0; i < graph.ops().size(); ++i) order.push_back(OpId{static_cast<int32_t>(i)});
  if (!shortcut_first) return order;
  for (size_t i = 0; i < order.size(); ++i) {
    const std::string& name = graph.op(order[i]).name;
    if (!ends_with(name, kShortcut)) continue;
    const std::string block = name.substr(0, name.size() - kShortcut.size()) + ".";
    const auto begin = std::find_if(order.begin(), order.end(), [&](OpId id) {
      return graph.op(id).name.compare(0, block.size(), block) == 0;
    });
    const auto own = order.begin() + static_cast<std::ptrdiff_t>(i);
    std::rotate(begin, own, own + 1);
  }
  return order;
}

std::vector<size_t> held_until(const Graph& graph, const std::vector<OpId>& order) {
  std::vector<size_t> until(graph.tensors().size(), 0);
  std::map<std::string, Module> modules;
  for (size_t i = 0; i < order.size(); ++i) {
    const Op& op = graph.op(order[i]);
    until[index(op.output)] = std::max(until[index(op.output)], i);
    // diffusers attends to keys and values of their own, which the queries' operation makes. So it drops the
    // normed tensor after that operation.
    const bool one_tensor = op.kind == OpKind::attention && op.inputs[1] == op.inputs[2];
    for (size_t k = 0; k < (one_tensor ? 1 : op.inputs.size()); ++k)
      until[index(op.inputs[k])] = std::max(until[index(op.inputs[k])], i);
    for (const std::string& path : called_modules(op.name)) {
      Module& module = modules[path];
      if (module.made.empty()) module.called_with.insert(op.inputs[0]);
      module.made.insert(op.output);
      module.last = i;
    }
  }
  for (const auto& [path, module] : modules) {
    for (TensorId input : module.called_with)
      until[index(input)] = std::max(until[index(input)], module.last);
  }
  until[index(graph.output())] = order.size();
  return until;
}

std::vector<CopiedInput> copied_inputs(const Graph& graph, const std::vector<OpId>& order) {
  const auto with_shortcut = std::find_if(graph.ops().begin(), graph.ops().end(),
                                          [](const Op& op) { return ends_with(op.name, kBlockShortcut); });
  if (with_shortcut == graph.ops().end()) return {};
  const std::string block = with_shortcut->name.substr(0, with_shortcut->name.size() - kBlockShortcut.size());
  const std::string list = block.substr(0, block.rfind('.') + 1);  // "decoder.up_blocks."
  std::map<std::string, CopiedInput> copies;
  for (size_t i = 0; i < order.size(); ++i) {
    const Op& op = graph.op(order[i]);
    if (op.name.compare(0, list.size(), list) != 0) continue;
    const std::string number = components(op.name.substr(list.size())).front();
    const auto [copy, is_new] = copies.try_emplace(number, CopiedInput{op.inputs[0], i, i});
    copy->second.last = i;
  }
  std::vector<CopiedInput> found;
  found.reserve(copies.size());
  for (const auto& [number, copy] : copies) found.push_back(copy);
  return found;
}

}  // namespace headroom::profiler
