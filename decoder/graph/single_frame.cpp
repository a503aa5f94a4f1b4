#include <algorithm>

#include "decoder/graph/graph.h"

// Simplifies a video decoder for a single latent frame. All input before this frame is known, so temporal
// kernels reduce to one tap. Operations that only later frames read are removed.
namespace headroom {
namespace {

/// Removes the operation's time axis. Kernels with zeros_instead_of_first_frame keep theirs: only unfolding
/// reads their results, and of_one_frame() drops both.
void keep_one_frame(Op& op) {
  op.factor.t = op.stride.t = 1;
  op.frames = AttentionFrames::each;
  if (op.kernel.t == 1 || op.convolution.before_first == BeforeFirst::zeros_instead_of_first_frame) return;
  op.convolution.stored_frames = std::max(op.kernel.t, op.convolution.stored_frames);
  op.kernel.t = 1;
  if (op.convolution.before_first == BeforeFirst::zeros)
    op.convolution.stored_ahead += op.convolution.frames_ahead;
  op.convolution.frames_ahead = 0;
}

/// True if the operation's result equals its first input's only frame.
bool copies_one_frame(const Graph& graph, const Op& op) {
  if (op.kind == OpKind::unfold_frames || op.convolution.keeps_first_frame) return true;
  if (op.factor.y != 1 || op.factor.x != 1) return false;
  return op.kind == OpKind::interpolate ||
         (op.kind == OpKind::depth_to_space &&
          graph.tensor(op.output).channels == graph.tensor(op.inputs[0]).channels);
}

}  // namespace

Graph Graph::of_one_frame() const {
  // Replacements of tensors that only copy a frame, and the tensors on which the output depends.
  std::vector<TensorId> stands_for;
  std::vector<bool> needed(tensors_.size(), false);
  for (size_t t = 0; t < tensors_.size(); ++t) {
    const TensorId id{static_cast<int32_t>(t)};
    const Op* made_by = producer(id);
    stands_for.push_back(
        made_by != nullptr && copies_one_frame(*this, *made_by) ? stands_for[index(made_by->inputs[0])] : id);
  }
  needed[index(stands_for[index(output_)])] = true;
  for (size_t i = ops_.size(); i-- > 0;) {
    if (!needed[index(ops_[i].output)]) continue;
    for (TensorId input : ops_[i].inputs) needed[index(stands_for[index(input)])] = true;
  }

  Graph pruned;
  pruned.encodes_ = encodes_;
  const auto one_frame = [](const Axes<int32_t>& scale) {
    return Axes<int32_t>{std::min(scale.t, 1), scale.y, scale.x};
  };
  const Tensor& first = tensors_[0];
  std::vector<TensorId> now(tensors_.size(),
                            pruned.add_input(first.name, first.channels, one_frame(first.scale)));
  for (const Op& old : ops_) {
    if (!needed[index(old.output)]) continue;
    Op op = old;
    keep_one_frame(op);
    for (TensorId& input : op.inputs) input = now[index(stands_for[index(input)])];
    const Tensor& made = tensor(old.output);
    const TensorId id = pruned.append(std::move(op), made.channels, one_frame(made.scale), made.statistics);
    pruned.tensors_[index(id)].cut_point = made.cut_point;
    now[index(old.output)] = id;
  }
  pruned.set_output(now[index(stands_for[index(output_)])]);
  return pruned;
}

}  // namespace headroom
