#include "decoder/validator/view.h"

#include <algorithm>
#include <limits>

namespace headroom::validation {
namespace {

// (a + b - 1) / b could overflow for a hostile plan.
int64_t ceil_divide(int64_t a, int64_t b) {
  return a / b + (a % b > 0 ? 1 : 0);
}

/// First frame at scale `to` that corresponds to frame `begin` at scale `from`.
int64_t frames_before(int64_t begin, int64_t from, int64_t to) {
  return begin < 1 ? 0 : multiply(begin - 1, to) / from + 1;
}

/// End of the frames at scale `to` that correspond to the frames before `end` at scale `from`.
int64_t frames_until(int64_t end, int64_t from, int64_t to) {
  return end < 1 ? 0 : ceil_divide(multiply(end - 1, to), from) + 1;
}

}  // namespace

int64_t add(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}

int64_t multiply(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<int64_t>::max() : product;
}

const char* letter(Axis axis) {
  return axis == kTime ? "t" : axis == kRows ? "y" : "x";
}

void Findings::add(Violation::Kind kind, std::string place, std::string what) {
  if (!full()) list_.push_back({kind, std::move(place), std::move(what)});
}

std::string to_text(const Interval& interval) {
  return "[" + std::to_string(interval.begin) + ", " + std::to_string(interval.end) + ")";
}

View::View(const Plan& checked_plan, const Graph& checked_graph, const Extent& latent_extent)
    : plan(checked_plan),
      graph(checked_graph),
      latent(latent_extent),
      writers(plan.kept.size()),
      well_formed(plan.passes.size()),
      kept_index_(graph.tensors().size(), -1) {
  for (size_t i = 0; i < plan.kept.size(); ++i) {
    if (is_tensor(plan.kept[i].tensor)) kept_index_[index(plan.kept[i].tensor)] = static_cast<int32_t>(i);
  }
}

bool View::spend(int64_t work) {
  if (work <= work_left) {
    work_left -= work;
    return true;
  }
  if (!out_of_work_)
    findings.add(Violation::malformed, "passes", "more tiles and steps than any real plan has");
  out_of_work_ = true;
  work_left = 0;
  return false;
}

bool View::is_tensor(TensorId id) const {
  return static_cast<int32_t>(id) >= 0 && index(id) < graph.tensors().size();
}

bool View::is_op(OpId id) const {
  return static_cast<int32_t>(id) >= 0 && index(id) < graph.ops().size();
}

const KeptTensor* View::kept(TensorId id) const {
  const int32_t entry = kept_index_[index(id)];
  return entry < 0 ? nullptr : &plan.kept[static_cast<size_t>(entry)];
}

std::string View::name(TensorId id) const {
  return is_tensor(id) ? graph.tensor(id).name : "tensor " + std::to_string(static_cast<int32_t>(id));
}

std::string View::place(const StepRef& ref) const {
  return "passes[" + std::to_string(ref.pass) + "].steps[" + std::to_string(ref.step) + "] (" +
         name(step(ref).tensor) + ")";
}

std::string View::place(const KeptTensor& entry) const {
  return "kept[" + std::to_string(&entry - plan.kept.data()) + "] (" + name(entry.tensor) + ")";
}

Interval View::picture(TensorId id, Axis axis) const {
  const int64_t scale = at(graph.tensor(id).scale, axis);
  // The first frame is one frame at every scale.
  return {0, axis == kTime ? add(multiply(latent.t - 1, scale), 1) : at(latent, axis) * scale};
}

Interval View::own_rows(int64_t scale) const {
  if (plan.share.alone()) return {0, latent.y * scale};
  return {plan.share.latent_rows.begin * scale, plan.share.latent_rows.end * scale};
}

Interval View::kept_rows(const KeptTensor& entry) const {
  return entry.rows.value_or(picture(entry.tensor, kRows));
}

Interval View::image(size_t pass, TensorId id, Axis axis, size_t i) const {
  const Interval& grid = at(plan.passes[pass].tiles, axis)[i];
  const int64_t from = at(plan.passes[pass].scale, axis);
  const int64_t to = at(graph.tensor(id).scale, axis);
  if (axis == kTime) return {frames_before(grid.begin, from, to), frames_until(grid.end, from, to)};
  return {grid.begin * to / from, ceil_divide(grid.end * to, from)};
}

Interval View::made(const StepRef& ref, Axis axis, size_t i) const {
  const bool carried = i > 0 && carries(ref, axis) && !copies_kept(step(ref));
  return intersect(carried ? computed(ref, axis, i) : region(ref, axis, i), picture(step(ref).tensor, axis));
}

bool View::carries(const StepRef& ref, Axis axis) const {
  return axis == kTime || (axis == kRows && plan.passes[ref.pass].carries_rows && computes_tile(step(ref)));
}

/// A step that runs ahead computes positions before their own tile's turn. Near the end of the axis nothing
/// remains to compute.
Interval View::computed(const StepRef& ref, Axis axis, size_t i) const {
  const Step& maker = step(ref);
  const Interval own = image(ref.pass, maker.tensor, axis, i);
  const int64_t end = picture(maker.tensor, axis).end + at(maker.pad, axis);
  const int64_t ahead = at(maker.halo.after, axis);
  return {std::min(own.begin + ahead, end), std::min(own.end + ahead, end)};
}

Interval View::region(const StepRef& ref, Axis axis, size_t i) const {
  const Step& made = step(ref);
  const int64_t pad = at(made.pad, axis), before = at(made.halo.before, axis);
  if (i > 0 && carries(ref, axis)) {
    const Interval of_tile = computed(ref, axis, i);
    return {std::max(-pad, of_tile.begin - before), of_tile.end};
  }
  const Interval own = image(ref.pass, made.tensor, axis, i);
  const Interval inside = picture(made.tensor, axis);
  return intersect({own.begin - before, own.end + at(made.halo.after, axis)},
                   {inside.begin - pad, inside.end + pad});
}

Interval View::needed(const StepRef& ref, size_t input, Axis axis, size_t i) const {
  const Step& reader = step(ref);
  const TensorId read = reader.inputs[input].tensor;
  if (reads_whole(reader, input)) return picture(read, axis);
  if (writes_whole(reader.kind)) return image(ref.pass, read, axis, i);
  // The step fills positions outside the picture itself and needs no input for them.
  const Interval out = made(ref, axis, i);
  if (adds_operand(reader, input)) return out;
  if (axis == kTime) return frames_needed(reader, input, out);
  if (reader.kind == OpKind::conv) {
    const Op& op = graph.op(reader.op);
    const int64_t factor = at(op.factor, axis), stride = at(op.stride, axis);
    if (factor == 1) {
      const int64_t first = op.convolution.begins_at_own ? 0 : at(op.kernel, axis) / 2;
      return {out.begin * stride - first, (out.end - 1) * stride - first + at(op.kernel, axis)};
    }
    // Over nearest upsampling, an output reads the position that it repeats and its neighbours.
    const int64_t beyond = ceil_divide(at(op.kernel, axis) / 2, factor);
    return {out.begin / factor - beyond, ceil_divide(out.end, factor) + beyond};
  }
  if (reader.kind == OpKind::interpolate && at(graph.op(reader.op).factor, axis) > 1) {
    // An even output position interpolates between its source and the one before, an odd one between its
    // source and the one after.
    const int64_t first = out.begin / 2 - (out.begin % 2 == 0 ? 1 : 0);
    const int64_t end = (out.end - 1) / 2 + (out.end % 2 == 0 ? 1 : 0) + 1;
    return out.length() == 0 ? out : intersect({first, end}, picture(read, axis));
  }
  if (reader.kind == OpKind::space_to_depth) {
    const int64_t stride = at(graph.op(reader.op).stride, axis);
    return {out.begin * stride, out.end * stride};
  }
  if (reader.kind != OpKind::upsample && reader.kind != OpKind::depth_to_space) return out;
  const int64_t factor = at(graph.op(reader.op).factor, axis);
  return {out.begin / factor, ceil_divide(out.end, factor)};
}

/// Input frames for these output frames. A convolution reads the existing frames under its kernel.
/// Interpolation along the time and attention over interleaved frames read all frames. Frame-upsampling steps
/// read the frame that each output comes from.
Interval View::frames_needed(const Step& reader, size_t input, const Interval& out) const {
  if (reader.op == OpId{-1}) return out;
  const Op& op = graph.op(reader.op);
  const Interval all = picture(reader.inputs[input].tensor, kTime);
  switch (reader.kind) {
    case OpKind::conv:
      return {std::max<int64_t>(0, out.begin * op.stride.t - (op.kernel.t - 1 - op.convolution.frames_ahead)),
              std::min(all.end, (out.end - 1) * op.stride.t + 1 + op.convolution.frames_ahead)};
    case OpKind::interpolate:
      return op.factor.t > 1 ? all : out;
    case OpKind::attention:
      return op.frames == AttentionFrames::interleaved ? all : out;
    case OpKind::unfold_frames:
      return {frames_before(out.begin, 2, 1), frames_until(out.end, 2, 1)};
    case OpKind::depth_to_space:
      return {frames_before(out.begin, op.factor.t, 1), frames_until(out.end, op.factor.t, 1)};
    case OpKind::space_to_depth:
      return {frames_before(out.begin, 1, op.stride.t), frames_until(out.end, 1, op.stride.t)};
    default:
      return out;
  }
}

int64_t View::tile_element_bytes() const {
  return on_cuda() && plan.request.dtype != Dtype::fp32 ? 2 : 4;
}

int64_t View::row_bytes(TensorId id) const {
  const Tensor& tensor = graph.tensor(id);
  return multiply(multiply(multiply(picture(id, kTime).end, picture(id, kColumns).end), tensor.channels),
                  bytes_per_element(plan.request.dtype));
}

int64_t View::block_bytes(const KeptTensor& entry) const {
  return multiply(multiply(entry.block_rows, row_bytes(entry.tensor)), plan.micro_batch);
}

int64_t View::block_count(const KeptTensor& entry) const {
  return ceil_divide(kept_rows(entry).length(), entry.block_rows);
}

Interval View::blocks_with(const KeptTensor& entry, const Interval& rows) const {
  const Interval stored = kept_rows(entry), inside = intersect(rows, stored);
  if (inside.length() == 0) return {};
  return {(inside.begin - stored.begin) / entry.block_rows,
          (inside.end - 1 - stored.begin) / entry.block_rows + 1};
}

std::vector<int64_t> pass_starts(const View& view) {
  std::vector<int64_t> starts{0};
  for (size_t p = 0; p < view.plan.passes.size(); ++p) {
    starts.push_back(add(starts.back(), static_cast<int64_t>(view.tile_count(p, kRows))));
  }
  return starts;
}

namespace {

/// True for steps that compute values position by position, also outside the tile's own positions.
bool makes_positions(OpKind kind) {
  return kind == OpKind::gather || kind == OpKind::norm || kind == OpKind::upsample || kind == OpKind::conv ||
         kind == OpKind::add || kind == OpKind::attention || kind == OpKind::interpolate ||
         kind == OpKind::unfold_frames || kind == OpKind::rms_norm || kind == OpKind::gate ||
         kind == OpKind::modulate || kind == OpKind::depth_to_space || kind == OpKind::space_to_depth ||
         kind == OpKind::linear_attention || kind == OpKind::activate;
}

}  // namespace

bool computes_tile(const Step& step) {
  return makes_positions(step.kind) && !writes_blocks(step);
}

bool writes_blocks(const Step& step) {
  return step.kind == OpKind::conv && step.target != StepTarget::tile;
}

bool adds_operand(const Step& step, size_t input) {
  return step.kind == OpKind::conv && step.add != OpId{-1} && input == step.inputs.size() - 1;
}

bool copies_kept(const Step& step) {
  return step.kind == OpKind::gather && step.inputs[0].step == -1;
}

bool counts_positions(OpKind kind) {
  return kind == OpKind::statistics || kind == OpKind::key_value_sums;
}

bool writes_whole(OpKind kind) {
  return !makes_positions(kind);
}

bool reads_whole(const Step& step, size_t input) {
  return (step.kind == OpKind::attention && input > 0) || (step.kind == OpKind::norm && input == 1) ||
         (step.kind == OpKind::linear_attention && input + 1 == step.inputs.size());
}

}  // namespace headroom::validation
