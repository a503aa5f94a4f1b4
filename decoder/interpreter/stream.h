#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "decoder/files/array.h"
#include "decoder/files/picture_sink.h"
#include "decoder/graph/model.h"
#include "decoder/interpreter/device.h"
#include "decoder/interpreter/interpreter.h"
#include "decoder/plan/plan.h"
#include "decoder/schedule/stream_frames.h"

namespace headroom {

/// Decodes or encodes a clip whose frames arrive block by block. The output equals that of the whole clip.
/// Between blocks, the device's memory has the frames that later blocks read (stream_frames.h).
class Stream {
 public:
  /// Makes the device of a micro-batch. It lives as long as the stream.
  using MakeDevice = std::function<std::unique_ptr<Device>(const Plan& micro_batch)>;

  /// `plan` is for a clip of more frames than a block has, and keeps all tensors on the device. A block has
  /// at most `block` latent frames. The model must outlive the stream. Throws InputError if the model cannot
  /// run block by block.
  Stream(const Model& model, Plan plan, int64_t block, const MakeDevice& make_device);

  /// Output frames of a push of `frames` input frames, or of the last push.
  int64_t frames_ready(int64_t frames, bool ends) const;
  /// Throws InputError if the stream has ended, or cannot take this input.
  void require(const ArrayView& input, bool ends) const;
  /// Takes any number of input frames, N×C×T×H×W, and writes the output frames that are ready. The sink has
  /// exactly these. `ends`: no later push. Throws like require(); then the stream goes on. After any other
  /// exception it has ended.
  void push(const ArrayView& input, bool ends, PictureSink& sink);

  /// The state between two blocks, for a stream of the same plan, model and weights. Throws InputError if the
  /// stream has ended.
  std::vector<std::byte> state();
  /// Goes on where the stream was that this state is of. Call it before the first push. Throws InputError if
  /// it is no state of this plan, and LimitExceeded.
  void restore(std::span<const std::byte> state);

  /// Frees all memory. The stream has ended.
  void end();

  int64_t frames_taken() const { return taken_; }
  int64_t frames_made() const { return frames_.emitted(); }
  bool ended() const { return ended_; }

 private:
  void move_state(StreamState& state);
  /// Latent frames that are complete after this many input frames.
  int64_t latent_frames(int64_t taken) const;
  /// Input frames of these latent frames.
  int64_t input_frames(int64_t latent_frames) const;
  void run_block(const ArrayView& input, const StreamFrames& before, const BlockFrames& block,
                 PictureSink& sink);
  /// The frames of the clip in `frames`: of those that wait, and of those of `input`, which follow them.
  Array part(const ArrayView& input, const Interval& frames) const;

  const Model& model_;
  const Plan plan_;
  const int64_t block_;
  const std::vector<int64_t> shape_;  ///< of an input of one block; the frames are any number
  StreamFrames frames_;
  std::vector<Plan> micro_batches_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::unique_ptr<Interpreter>> interpreters_;
  int64_t taken_ = 0;  ///< input frames so far
  Array waiting_;      ///< input frames of an incomplete latent frame
  bool ended_ = false;
};

}  // namespace headroom
