#include "decoder/schedule/stream_frames.h"

#include <algorithm>

#include "decoder/base/errors.h"
#include "decoder/graph/geometry.h"
#include "decoder/operations/operation.h"
#include "decoder/schedule/memory.h"
#include "decoder/schedule/tiles.h"

namespace headroom {

BlockFrames whole_clip(const Graph& graph, const Plan& plan) {
  const Extent latent = sizes_of(graph, plan).latent;
  const auto all = [&](TensorId id) { return Interval{0, extent_of(graph.tensor(id), latent).t}; };
  BlockFrames clip{.latent_frames = latent.t, .input = all(graph.input()), .output = all(graph.output())};
  for (const Pass& pass : plan.passes) clip.chunks.push_back(pass.tiles.t);
  clip.kept[graph.input()] = clip.input;
  for (const KeptTensor& entry : plan.kept) clip.kept[entry.tensor] = all(entry.tensor);
  return clip;
}

StreamFrames::StreamFrames(const Graph& graph, const Plan& plan, int64_t block)
    : graph_(graph),
      plan_(plan),
      block_(block),
      latent_(sizes_of(graph, plan).latent),
      done_(plan.passes.size(), 0) {
  latent_.t = kOpenEnd;
  made_[graph.input()] = first_[graph.input()] = 0;
  for (const KeptTensor& entry : plan.kept) made_[entry.tensor] = first_[entry.tensor] = 0;
}

int64_t StreamFrames::frames_of(TensorId tensor, int64_t latent_frames) const {
  return latent_frames == 0 ? 0 : extent_of(graph_.tensor(tensor), {latent_frames, 1, 1}).t;
}

bool StreamFrames::writes(size_t pass, TensorId tensor) const {
  return std::any_of(plan_.kept.begin(), plan_.kept.end(), [&](const KeptTensor& entry) {
    return entry.tensor == tensor && entry.first_pass == static_cast<int32_t>(pass);
  });
}

std::vector<StreamFrames::Read> StreamFrames::reads(size_t number, const Interval& chunk) const {
  const Pass& pass = plan_.passes[number];
  std::vector<Read> list;
  for (const Step& step : pass.steps) {
    const TileAxis axis = tile_axis(graph_, pass, step, measured_tensor(step), Axis::t, latent_);
    const Interval made = axis.made(chunk);
    for (const Operand& operand : step.inputs) {
      const Tensor& tensor = graph_.tensor(operand.tensor);
      if (operand.step >= 0 || tensor.statistics || made.length() <= 0) continue;
      if (writes(number, operand.tensor)) continue;  // statistics of blocks that the pass has just written
      Interval frames = made;
      if (step.op != OpId{-1} && !takes_statistics(step.kind))
        frames = needed_region(graph_.op(step.op), {made, {}, {}}).t;
      list.push_back({operand.tensor, intersect(frames, {0, extent_of(tensor, latent_).t})});
    }
  }
  return list;
}

bool StreamFrames::ready(size_t pass, const Interval& chunk) const {
  const std::vector<Read> list = reads(pass, chunk);
  return std::all_of(list.begin(), list.end(),
                     [&](const Read& read) { return read.frames.end <= made_.at(read.tensor); });
}

int64_t StreamFrames::grid_frames(size_t pass) const {
  return extent_at(plan_.passes[pass].scale, latent_).t;
}

bool StreamFrames::complete() const {
  for (size_t pass = 0; pass < done_.size(); ++pass) {
    if (done_[pass] < grid_frames(pass)) return false;
  }
  return true;
}

/// The grid frames that the pass can run now.
Interval StreamFrames::extend(size_t pass) const {
  Interval grid{done_[pass], done_[pass]};
  const int64_t most = std::min(grid_frames(pass), grid.begin + block_ * plan_.passes[pass].scale.t);
  while (grid.end < most && ready(pass, {grid.begin, grid.end + 1})) ++grid.end;
  return grid;
}

/// Tensors that overwrite each other's blocks have the same frames.
void StreamFrames::share_blocks(std::map<TensorId, Interval>& frames) const {
  const auto join = [&](const KeptTensor& entry) {
    if (entry.in_place_of == TensorId{-1}) return;
    Interval &own = frames[entry.tensor], &base = frames[entry.in_place_of];
    own = base = {std::min(own.begin, base.begin), std::max(own.end, base.end)};
  };
  std::for_each(plan_.kept.begin(), plan_.kept.end(), join);
  std::for_each(plan_.kept.rbegin(), plan_.kept.rend(), join);
}

/// Frames of a tensor that the pass has made.
int64_t StreamFrames::made_by(size_t pass, TensorId tensor) const {
  const int32_t scale = plan_.passes[pass].scale.t;
  return frames_at_scale({0, done_[pass]}, scale, graph_.tensor(tensor).scale.t).end;
}

void StreamFrames::note_made(size_t pass) {
  for (const KeptTensor& entry : plan_.kept) {
    if (entry.first_pass == static_cast<int32_t>(pass)) made_[entry.tensor] = made_by(pass, entry.tensor);
  }
  for (const Step& step : plan_.passes[pass].steps) {
    if (step.kind == OpKind::emit) emitted_ = made_by(pass, graph_.output());
  }
}

void StreamFrames::find_first() {
  first_ = made_;
  for (size_t pass = 0; pass < done_.size(); ++pass) {
    if (done_[pass] == grid_frames(pass)) continue;
    for (const Read& read : reads(pass, {done_[pass], done_[pass] + 1}))
      first_[read.tensor] = std::min(first_[read.tensor], done_[pass] == 0 ? 0 : read.frames.begin);
  }
}

std::map<TensorId, Interval> StreamFrames::tails() const {
  std::map<TensorId, Interval> tails;
  for (const auto& [tensor, made] : made_) tails[tensor] = {first_.at(tensor), made};
  return tails;
}

BlockFrames StreamFrames::advance(int64_t latent_frames, bool ends) {
  if (ends) latent_.t = latent_frames;
  BlockFrames block{.latent_frames = latent_.t,
                    .input = {made_[graph_.input()], frames_of(graph_.input(), latent_frames)}};
  block.output.begin = emitted_;
  made_[graph_.input()] = block.input.end;
  for (size_t pass = 0; pass < done_.size(); ++pass) {
    const Interval grid = extend(pass);
    done_[pass] = grid.end;
    std::vector<Interval> chunks = cut(grid.length(), longest_tile(plan_.passes[pass]).t);
    for (Interval& chunk : chunks) chunk = {chunk.begin + grid.begin, chunk.end + grid.begin};
    block.chunks.push_back(std::move(chunks));
    note_made(pass);
  }
  for (const auto& [tensor, made] : made_) block.kept[tensor] = {first_[tensor], made};
  share_blocks(block.kept);
  find_first();
  block.tails = tails();
  block.output.end = emitted_;
  latent_frames_ = latent_frames;
  return block;
}

void StreamFrames::restore(int64_t latent_frames, const std::vector<int64_t>& done) {
  const InputError wrong("state: its frames are not those of a stream of this plan");
  if (latent_frames < 0 || latent_frames >= kOpenEnd) throw wrong;
  latent_frames_ = latent_frames;
  made_[graph_.input()] = frames_of(graph_.input(), latent_frames);
  for (size_t pass = 0; pass < done_.size(); ++pass) {
    if (done[pass] < 0 || done[pass] >= kOpenEnd) throw wrong;
    done_[pass] = done[pass];
    // All frames that are ready have run, and no others.
    if (done[pass] > 0 && !ready(pass, {done[pass] - 1, done[pass]})) throw wrong;
    if (extend(pass).length() > 0) throw wrong;
    note_made(pass);
  }
  find_first();
}

namespace {

std::string why_not(const Op& op) {
  const std::string whole = " of the whole clip, which a stream does not have yet";
  if (op.kind == OpKind::statistics && !op.by_frame) return op.name + " takes the mean and deviation" + whole;
  if (op.run_frames > 0)
    return op.name + " takes the mean and deviation of runs of frames, which may lie in two blocks";
  if (op.kind == OpKind::key_value_sums) return op.name + " sums keys and values" + whole;
  if (op.kind == OpKind::attention && op.frames == AttentionFrames::up_to_own)
    return op.name + " attends to all earlier frames of the clip, so its memory grows with the clip";
  if (op.kind == OpKind::attention && op.frames != AttentionFrames::each)
    return op.name + " attends to frames" + whole;
  if (needs_all_frames(op)) return op.name + " reads all frames" + whole;
  return "";
}

}  // namespace

std::string why_no_stream(const Model& model) {
  if (!model.decodes_clips) return "its latents are single pictures, not clips";
  bool reads_ahead = false;
  std::string by_frame;
  for (const Op& op : model.graph.ops()) {
    std::string why = why_not(op);
    if (!why.empty()) return why;
    reads_ahead = reads_ahead || reach(op).after.t > 0;
    if (op.kind == OpKind::statistics) by_frame = op.name;
  }
  if (!reads_ahead || by_frame.empty()) return "";
  return by_frame + " takes statistics of each frame while convolutions read frames ahead";
}

int64_t delay_frames(const Graph& graph, const Plan& plan) {
  StreamFrames frames(graph, plan, 1);
  const auto late = [&](int64_t latent_frames) {
    frames.advance(latent_frames, false);
    return extent_of(graph.tensor(graph.output()), {latent_frames, 1, 1}).t - frames.emitted();
  };
  // The delay grows until the first frame comes.
  int64_t latent_frames = 0, before = -1, delay = 0;
  do {
    before = delay;
    delay = late(++latent_frames);
  } while (delay != before || frames.emitted() == 0);
  return delay;
}

}  // namespace headroom
