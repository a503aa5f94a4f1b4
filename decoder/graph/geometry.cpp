#include "decoder/graph/geometry.h"

#include <algorithm>

namespace headroom {
namespace {

int64_t floor_divide(int64_t a, int64_t b) {
  return a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
}

}  // namespace

Halo reach(const Op& op, size_t) {
  if (op.kind == OpKind::interpolate) {
    // An output interpolates between the input position that it comes from and a neighbour.
    const Axes<int32_t> beside{0, op.factor.y > 1 ? 1 : 0, op.factor.x > 1 ? 1 : 0};
    return {beside, beside};
  }
  if (op.kind != OpKind::conv) return {};
  const auto half =
      per_axis([](int32_t k, int32_t factor) { return (k / 2 + factor - 1) / factor; }, op.kernel, op.factor);
  const int32_t ahead = op.convolution.frames_ahead;
  return {{op.kernel.t - 1 - ahead, half.y, half.x}, {ahead, half.y, half.x}};
}

Edges edges_read(const Op& op) {
  if (op.kind != OpKind::conv || (op.kernel.y == 1 && op.kernel.x == 1)) return Edges::zeros;
  // Nearest upsampling by f turns `small` (n positions) into `large`: large(p) = small(floor(p / f)). A
  // kernel of 3 on `large` reads one position outside.
  // Replicate: large(-1) = large(0) = small(0), and large(f * n) = large(f * n - 1) = small(n - 1).
  // Replicating `small` gives these values too.
  // Reflect: large(-1) = large(1) and large(f * n) = large(f * n - 2). For f >= 2 these are also small(0) and
  // small(n - 1). So `small` is replicated, not reflected.
  if (op.factor.y > 1 && op.convolution.edges == Edges::reflect) return Edges::replicate;
  return op.convolution.edges;
}

bool needs_all_frames(const Op& op) {
  return (op.kind == OpKind::interpolate && op.factor.t > 1) ||
         (op.kind == OpKind::attention && op.frames == AttentionFrames::interleaved);
}

int64_t attended_keys(const Graph& graph, const Op& op, const Extent& latent, int64_t frame) {
  const Extent keys = extent_of(graph.tensor(op.inputs[1]), latent);
  return attended_frames(op.frames, frame).length() * keys.y * keys.x;
}

int64_t most_attended_keys(const Graph& graph, const Op& op, const Extent& latent) {
  return attended_keys(graph, op, latent, extent_of(graph.tensor(op.output), latent).t - 1);
}

Interval frames_at_scale(const Interval& frames, int32_t from_scale, int32_t to_scale) {
  const auto later_frames = [&](int64_t count) { return count * to_scale / from_scale; };
  const int64_t begin = frames.begin <= 0 ? 0 : later_frames(frames.begin - 1) + 1;
  if (frames.end <= 0) return {begin, 0};
  const bool cut = (frames.end - 1) * to_scale % from_scale != 0;
  return {begin, later_frames(frames.end - 1) + (cut ? 1 : 0) + 1};
}

DepthFrame depth_frame(const Op& op, int64_t inputs, int64_t outputs, int64_t frame) {
  const bool first = frame == 0 || op.factor.t == 1;
  const int64_t of_frame = int64_t{op.factor.y} * op.factor.x, all = op.frames_in_depth * of_frame;
  const int64_t source = first ? frame : (frame - 1) / op.factor.t + 1;
  const int64_t later = first ? 0 : (frame - 1) % op.factor.t * of_frame;
  if (op.depth_order == DepthOrder::channel_first)
    return {source, first ? all - of_frame : later, 1, all, outputs * all / inputs};
  const int64_t of_pixel = inputs / (first ? of_frame : all);
  const int64_t repeats = std::max<int64_t>(1, outputs / of_pixel);
  return {source, later, of_pixel * repeats, 1, repeats};
}

bool is_barrier(const Op& op, size_t input) {
  switch (traits_of(op.kind).barrier) {
    case BarrierInputs::none:
      return false;
    case BarrierInputs::all:
      return true;
    case BarrierInputs::all_but_first:
      return input > 0;
    case BarrierInputs::last:
      return input + 1 == op.inputs.size();
  }
  return false;
}

Region needed_region(const Op& op, size_t input, const Region& output) {
  const Halo halo = reach(op, input);
  Region needed = per_axis(
      [](const Interval& out, int32_t factor, int32_t before, int32_t after) {
        return Interval{floor_divide(out.begin, factor) - before, -floor_divide(-out.end, factor) + after};
      },
      output, op.factor, halo.before, halo.after);
  needed.t = frames_at_scale(output.t, op.factor.t, 1);
  needed.t.begin -= halo.before.t;
  needed.t.end += halo.after.t;
  return needed;
}

Extent extent_of(const Tensor& tensor, const Extent& latent) {
  return extent_at(tensor.scale, latent);
}

Extent extent_at(const Axes<int32_t>& scale, const Extent& latent) {
  return {(latent.t - 1) * scale.t + 1, latent.y * scale.y, latent.x * scale.x};
}

int64_t bytes_of(const Tensor& tensor, const Extent& latent, int64_t batch, Dtype dtype) {
  // Statistics take two floats, or one sum in double.
  if (tensor.statistics) return batch * tensor.channels * 2 * int64_t{sizeof(float)};
  return batch * tensor.channels * positions(extent_of(tensor, latent)) * bytes_per_element(dtype);
}

TensorId measured_tensor(const Op& op) {
  return traits_of(op.kind).makes_statistics ? op.inputs[0] : op.output;
}

std::vector<int32_t> barrier_depths(const Graph& graph) {
  std::vector<int32_t> depths(graph.tensors().size(), 0);
  for (const Op& op : graph.ops()) {
    int32_t depth = 0;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const Tensor& input = graph.tensor(op.inputs[i]);
      // Statistics count their barrier when they are measured, not when they are read.
      const bool crossed = (is_barrier(op, i) && !input.statistics) || input.cut_point;
      depth = std::max(depth, depths[index(op.inputs[i])] + (crossed ? 1 : 0));
    }
    depths[index(op.output)] = depth;
  }
  return depths;
}

}  // namespace headroom
