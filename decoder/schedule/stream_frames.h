#pragma once

#include <map>
#include <string>
#include <vector>

#include "decoder/plan/plan.h"
#include "decoder/plan/sizes.h"

// Frames of a clip that arrives block by block. A block runs every pass on the frames that it makes
// computable. A pass stays behind its inputs by the frames that its steps read ahead. Memory between blocks:
//
//     carried tiles   the last frames of each step in each tile (CarriedTiles), as between the chunks of a
//                     whole clip
//     tails           the last frames of kept tensors that later blocks read
//
//     kept tensor in block 3    |~~~~~ tail ~~~~~|====== new ======|
//     frames for block 4                     |~~~~~~~~ tail ~~~~~~~~|
//
// So a stream runs a plan's own tile program, and the bytes between blocks do not depend on the clip's
// length.
namespace headroom {

/// Latent frames of a clip whose end is not known yet.
constexpr int64_t kOpenEnd = int64_t{1} << 40;

/// The work of one block.
struct BlockFrames {
  int64_t latent_frames = kOpenEnd;             ///< of the clip
  Interval input{};                             ///< new frames of the graph's input
  std::vector<std::vector<Interval>> chunks{};  ///< by pass, in its grid
  std::map<TensorId, Interval> kept{};          ///< frames of the input and of kept tensors during the block
  std::map<TensorId, Interval> tails{};         ///< frames that stay for the next block; none if empty
  Interval output{};                            ///< frames that the block emits
};

/// A whole clip as its only block.
BlockFrames whole_clip(const Graph& graph, const Plan& plan);

/// The frames of one stream by one plan. A pass runs on the frames of at most `block` latent frames at a
/// time.
class StreamFrames {
 public:
  /// Both references must outlive it.
  StreamFrames(const Graph& graph, const Plan& plan, int64_t block);

  /// The block that brings the latent frames up to `latent_frames`. `ends`: the clip has no more. Frames that
  /// passes ran behind by may then take several blocks.
  BlockFrames advance(int64_t latent_frames, bool ends);
  /// True if the output has all frames of a clip that ends here.
  bool complete() const;
  /// Goes on where another stream of this plan was. `done` is its done(). Throws InputError if no stream is
  /// there after so many latent frames.
  void restore(int64_t latent_frames, const std::vector<int64_t>& done);
  /// By pass: frames of its grid.
  const std::vector<int64_t>& done() const { return done_; }
  /// BlockFrames::tails of the last block.
  std::map<TensorId, Interval> tails() const;
  int64_t latent_frames() const { return latent_frames_; }
  int64_t emitted() const { return emitted_; }

 private:
  /// The frames of a kept tensor of an earlier pass that a step reads in a chunk.
  struct Read {
    TensorId tensor{-1};
    Interval frames;
  };
  std::vector<Read> reads(size_t pass, const Interval& chunk) const;
  bool writes(size_t pass, TensorId tensor) const;
  bool ready(size_t pass, const Interval& chunk) const;
  int64_t frames_of(TensorId tensor, int64_t latent_frames) const;
  void share_blocks(std::map<TensorId, Interval>& frames) const;
  Interval extend(size_t pass) const;
  int64_t grid_frames(size_t pass) const;
  int64_t made_by(size_t pass, TensorId tensor) const;
  void note_made(size_t pass);
  void find_first();

  const Graph& graph_;
  const Plan& plan_;
  const int64_t block_;
  Extent latent_;  ///< `t` is kOpenEnd until the last block
  int64_t latent_frames_ = 0, emitted_ = 0;
  std::vector<int64_t> done_;
  std::map<TensorId, int64_t> made_;   ///< frames of the input and of kept tensors
  std::map<TensorId, int64_t> first_;  ///< the first frame of each that a later block reads
};

/// Why this decoder or encoder cannot run block by block. Empty if it can.
std::string why_no_stream(const Model& model);

/// Frames by which the output of a stream stays behind: a block's frames come this many frames later than in
/// a decoder that reads no frame ahead.
int64_t delay_frames(const Graph& graph, const Plan& plan);

}  // namespace headroom
