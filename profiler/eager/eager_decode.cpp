#include "profiler/eager/eager_decode.h"

#include <algorithm>
#include <map>

#include "decoder/families/families.h"
#include "decoder/graph/geometry.h"
#include "decoder/operations/operation.h"
#include "profiler/eager/layer_memory.h"
#include "profiler/eager/layer_order.h"

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

}  // namespace headroom::profiler
