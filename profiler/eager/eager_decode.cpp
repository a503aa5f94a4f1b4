#include "profiler/eager/eager_decode.h"

#include <algorithm>
#include <map>

#include "decoder/graph/geometry.h"
#include "decoder/graph/parameters.h"
#include "profiler/eager/layer_memory.h"
#include "profiler/eager/layer_order.h"

namespace headroom::profiler {
namespace {

/// Walks through the code, and keeps what is held.
class Walk {
 public:
  Walk(const Model& model, const Request& request, EagerClass of)
      : graph_(model.graph),
        setting_{of, request.device, bytes_per_element(request.dtype), request.batch},
        latent_(latent_extent(model, request.width_pixels, request.height_pixels, request.frames)),
        chunks_(of == EagerClass::wan ? latent_.t : 1),
        order_(eager_order(graph_, of == EagerClass::wan)),
        until_(held_until(graph_, order_)) {
    found_.weights_bytes = parameter_elements(graph_) * setting_.element_bytes;
    found_.layers.resize(graph_.ops().size());
    held_["weights"] = found_.weights_bytes;
    held_["latent"] = bytes_of(graph_.tensor(graph_.latent()), latent_, setting_.items, request.dtype);
  }

  EagerDecode run() {
    for (int64_t chunk = 0; chunk < chunks_; ++chunk) decode(chunk);
    if (chunks_ > 1) moment(order_.back(), picture_bytes(latent_));  // values are clamped at the end
    return std::move(found_);
  }

 private:
  /// A tensor's frames that come in one chunk: the latent's one stands for so many.
  int64_t frames(TensorId id, int64_t chunk) const {
    const Tensor& tensor = graph_.tensor(id);
    if (chunks_ == 1) return tensor.statistics ? 1 : extent_of(tensor, latent_).t;
    return chunk == 0 ? 1 : tensor.scale.t;
  }

  int64_t picture_bytes(const Extent& latent) const {
    const Tensor& picture = graph_.tensor(graph_.output());
    return setting_.items * picture.channels * positions(extent_of(picture, latent)) * setting_.element_bytes;
  }

  void decode(int64_t chunk) {
    bool channels_last = false;
    for (size_t i = 0; i < order_.size(); ++i) {
      const Op& op = graph_.op(order_[i]);
      const TensorId input = op.inputs[0];
      const EagerPlace place{.frames_in = frames(input, chunk),
                             .frames_out = frames(op.output, chunk),
                             .chunk = chunk,
                             .in = extent_of(graph_.tensor(input), latent_),
                             .out = extent_of(graph_.tensor(op.output), latent_),
                             .channels_last = channels_last,
                             .input_goes = until_[index(input)] == i};
      const LayerBytes bytes = layer_bytes(graph_, op, setting_, place);
      const std::string& name = graph_.tensor(op.output).name;
      held_[name] = bytes.output;
      moment(order_[i], bytes.workspace);
      EagerLayer& layer = found_.layers[index(order_[i])];
      if (const int64_t live = live_bytes() + bytes.workspace; live > layer.live_bytes)
        layer = {bytes.output, bytes.workspace, live};
      if (bytes.cached > 0) held_["frames kept for " + op.name] = bytes.cached;
      // The decoder's own variable for it, which is not read again.
      if (setting_.of == EagerClass::dc && op.convolution.shortcut && input == graph_.latent())
        held_["channels repeated for " + op.name] = bytes.output;
      // Its heads are rows of pixels, and all that comes later keeps that layout.
      channels_last = channels_last || op.kind == OpKind::linear_attention;
      drop_after(i);
    }
    if (chunks_ > 1) join_frames(chunk);
  }

  void drop_after(size_t i) {
    for (size_t t = 1; t < until_.size(); ++t) {
      if (until_[t] == i) held_.erase(graph_.tensors()[t].name);
    }
  }

  /// The frames of this chunk behind those of the earlier ones, in a clip of its own. They have a name of
  /// their own until the next chunk is done, but for the first one's.
  void join_frames(int64_t chunk) {
    const std::string last = "frames decoded last";
    held_.erase(last);
    Extent until = latent_;
    until.t = chunk + 1;
    const int64_t clip = picture_bytes(until);
    if (chunk > 0) moment(order_.back(), clip);
    const std::string& output = graph_.tensor(graph_.output()).name;
    if (chunk > 0) held_[last] = held_[output];
    held_.erase(output);
    held_["clip"] = clip;
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
  int64_t chunks_;
  std::vector<OpId> order_;
  std::vector<size_t> until_;
  std::map<std::string, int64_t> held_;
  EagerDecode found_;
};

}  // namespace

std::optional<EagerDecode> eager_decode(const Model& model, const Request& request) {
  const std::optional<EagerClass> of = eager_class(model.class_name);
  if (!of) return std::nullopt;
  return Walk(model, request, *of).run();
}

}  // namespace headroom::profiler
