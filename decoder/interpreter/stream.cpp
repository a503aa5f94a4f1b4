#include "decoder/interpreter/stream.h"

#include <algorithm>
#include <string>
#include <utility>

#include "decoder/base/errors.h"
#include "decoder/graph/geometry.h"

namespace headroom {
namespace {

constexpr size_t kFrames = 2;  // axis of N×C×T×H×W

/// Numbers frames from the first one of a push.
class FramesFrom final : public PictureSink {
 public:
  FramesFrom(PictureSink& to, const PictureShape& clip, int64_t first)
      : PictureSink(clip), to_(to), first_(first) {}

 private:
  void put(int64_t item, const Region& region, const float* pixels) override {
    Region own = region;
    own.t = {region.t.begin - first_, region.t.end - first_};
    to_.write(item, own, pixels);
  }
  void complete() override {}

  PictureSink& to_;
  const int64_t first_;
};

std::string text_of(const std::vector<int64_t>& shape) {
  std::string text;
  for (size_t axis = 0; axis < shape.size(); ++axis)
    text += (axis > 0 ? "x" : "") + std::to_string(shape[axis]);
  return text;
}

std::vector<int64_t> shape_of(const Model& model, const Plan& plan) {
  const Request& request = plan.request;
  const Extent latent = latent_extent(model, request.width_pixels, request.height_pixels, request.frames);
  return input_shape(model, latent, request.batch);
}

}  // namespace

Stream::Stream(const Model& model, Plan plan, int64_t block, const MakeDevice& make_device)
    : model_(model),
      plan_(std::move(plan)),
      block_(block),
      shape_(shape_of(model, plan_)),
      frames_(model.graph, plan_, block) {
  const std::string why = why_no_stream(model);
  if (!why.empty()) throw InputError(model.name + " cannot run block by block: " + why);
  waiting_.shape = shape_;
  waiting_.shape.at(kFrames) = 0;
  for (int64_t item = 0; item < plan_.request.batch; item += plan_.micro_batch)
    micro_batches_.push_back(plan_of_micro_batch(plan_, item));
  for (const Plan& micro_batch : micro_batches_) {
    devices_.push_back(make_device(micro_batch));
    interpreters_.push_back(
        std::make_unique<Interpreter>(model_, micro_batch, *devices_.back(), nullptr, nullptr));
  }
}

int64_t Stream::latent_frames(int64_t taken) const {
  const int64_t scale = model_.graph.tensor(model_.graph.input()).scale.t;
  return taken == 0 ? 0 : (taken - 1) / scale + 1;
}

int64_t Stream::input_frames(int64_t latent_frames) const {
  const int64_t scale = model_.graph.tensor(model_.graph.input()).scale.t;
  return latent_frames == 0 ? 0 : (latent_frames - 1) * scale + 1;
}

int64_t Stream::frames_ready(int64_t frames, bool ends) const {
  const int64_t latents = latent_frames(taken_ + frames);
  if (latents == 0) return 0;
  StreamFrames after = frames_;
  while (after.latent_frames() < latents)
    after.advance(std::min(latents, after.latent_frames() + block_), false);
  while (ends && !after.complete()) after.advance(latents, true);
  return after.emitted() - frames_.emitted();
}

void Stream::require(const ArrayView& input, bool ends) const {
  if (ended_) throw InputError("this stream has ended; open another one");
  std::vector<int64_t> expected = shape_;
  const bool clip = input.shape.size() == shape_.size();
  if (clip) expected[kFrames] = input.shape[kFrames];
  if (!clip || input.shape != expected) {
    expected[kFrames] = 1;
    throw InputError("block: expected shape " + text_of(expected) + " with any number of frames, found " +
                     text_of(input.shape));
  }
  const int64_t taken = taken_ + input.shape[kFrames], whole = input_frames(latent_frames(taken));
  if (ends && taken != whole) {
    throw InputError("the clip ends after " + std::to_string(taken) +
                     " frames, within a latent frame; expected " + std::to_string(whole) + ", or " +
                     std::to_string(input_frames(latent_frames(taken) + 1)));
  }
}

Array Stream::part(const ArrayView& input, const Interval& frames) const {
  const int64_t positions = shape_[kFrames + 1] * shape_[kFrames + 2], planes = shape_[0] * shape_[1];
  const int64_t waiting = waiting_.shape[kFrames], first = taken_ - waiting, given = input.shape[kFrames];
  Array made{shape_, {}};
  made.shape[kFrames] = frames.length();
  made.values.reserve(static_cast<size_t>(planes * frames.length() * positions));
  for (int64_t plane = 0; plane < planes; ++plane) {
    for (int64_t frame = frames.begin; frame < frames.end; ++frame) {
      const int64_t number = frame - first;
      const float* from = number < waiting ? waiting_.values.data() + (plane * waiting + number) * positions
                                           : input.values + (plane * given + number - waiting) * positions;
      made.values.insert(made.values.end(), from, from + positions);
    }
  }
  return made;
}

void Stream::push(const ArrayView& input, bool ends, PictureSink& sink) {
  require(input, ends);
  const int64_t taken = taken_ + input.shape[kFrames], latents = latent_frames(taken);
  const Tensor& output = model_.graph.tensor(model_.graph.output());
  const Extent extent = extent_of(output, latent_of(model_.graph, plan_.request));
  const int64_t first = frames_.emitted();
  FramesFrom block_sink(sink, {shape_[0], output.channels, first + sink.shape().frames, extent.y, extent.x},
                        first);
  ended_ = true;  // until the blocks have run
  while (frames_.latent_frames() < latents || (ends && latents > 0 && !frames_.complete())) {
    const int64_t now = std::min(latents, frames_.latent_frames() + block_);
    const StreamFrames before = frames_;
    const BlockFrames block = frames_.advance(now, ends && now == latents);
    const bool is_input = waiting_.shape[kFrames] == 0 && block.input == Interval{taken_, taken};
    if (is_input) {
      run_block(input, before, block, block_sink);
    } else {
      run_block(part(input, block.input), before, block, block_sink);
    }
  }
  waiting_ = part(input, {input_frames(latents), taken});
  taken_ = taken;
  ended_ = false;
  if (ends) end();
}

void Stream::end() {
  ended_ = true;
  interpreters_.clear();
  devices_.clear();
}

void Stream::move_state(StreamState& state) {
  std::vector<int64_t> done = frames_.done();
  state.move(taken_);
  for (int64_t& of_pass : done) state.move(of_pass);
  if (state.reads()) {
    const int64_t latents = taken_ < 0 || taken_ >= kOpenEnd ? -1 : latent_frames(taken_);
    frames_.restore(latents, done);
    waiting_.shape[kFrames] = taken_ - input_frames(latents);
    int64_t values = 1;
    for (const int64_t extent : waiting_.shape) values *= extent;
    waiting_.values.resize(static_cast<size_t>(values));
  }
  state.move(waiting_.values.data(), static_cast<int64_t>(waiting_.values.size() * sizeof(float)));
  for (const auto& interpreter : interpreters_) interpreter->move_state(state, frames_);
}

std::vector<std::byte> Stream::state() {
  if (ended_) throw InputError("this stream has ended, and has no state");
  StreamState state;
  move_state(state);
  return state.written();
}

void Stream::restore(std::span<const std::byte> bytes) {
  StreamState state(bytes);
  ended_ = true;  // until all is read
  move_state(state);
  state.require_end();
  ended_ = false;
}

void Stream::run_block(const ArrayView& input, const StreamFrames& before, const BlockFrames& block,
                       PictureSink& sink) {
  for (size_t i = 0; i < interpreters_.size(); ++i) {
    devices_[i]->begin_block(before, block);
    interpreters_[i]->run_block(input, static_cast<int64_t>(i) * plan_.micro_batch, sink, block);
  }
}

}  // namespace headroom
