#pragma once

#include <cstdint>
#include <vector>

#include "decoder/plan/plan.h"
#include "decoder/plan/sizes.h"
#include "planner/cost/gpu_card.h"

// Work of one step on a GPU: arithmetic, kernels, bytes.
namespace headroom::planner {

/// Positions of one item that a call of a step goes over.
struct CallExtent {
  int64_t frames = 1;
  int64_t area = 0;  ///< rows times columns
  int64_t positions() const { return frames * area; }
};

/// A convolution by tensor cores: every multiprocessor computes blocks of 128 positions by some outputs, and
/// a call takes as long as whole rounds of such blocks over all of them (waves).
struct ConvolutionWaves {
  double wave_seconds = 0;
  int64_t blocks_across = 0;  ///< blocks that cover the outputs; 0 where waves are not counted
  int64_t phases = 1;         ///< calls that share the positions of a frame
};

/// The arithmetic of a step, of one item.
class StepWork {
 public:
  /// None where the step only moves values.
  StepWork(const GpuCard& card, const Graph& graph, const Step& step, const Sizes& sizes);

  double seconds(const CallExtent& call) const;
  /// No more than seconds() of any tiles that cover so many positions.
  double least_seconds(int64_t positions) const { return seconds_per_position_ * double(positions); }

 private:
  int64_t multiprocessors_;
  double seconds_per_position_ = 0;
  ConvolutionWaves waves_;
};

/// Bytes that a step moves for each position of one item.
struct StepTraffic {
  struct Read {
    Operand operand;
    double bytes = 0;
  };
  std::vector<Read> reads;
  double written = 0;
  bool keeps = false;  ///< what is written is a kept tensor
  double emitted = 0;  ///< over the link to the host
  /// Kernels behind the step's own that read all that it wrote and write it again: an upsampling
  /// convolution's phases are interleaved, and convolutions have their activations applied.
  int32_t rewrites = 0;

  double moved() const;  ///< by all its kernels, emitted ones apart
};
StepTraffic traffic_of(const Graph& graph, const Step& step, const Sizes& sizes);

/// Kernels of a step for all items of a tile.
int64_t kernels_of(const Graph& graph, const Step& step, int64_t frames, const Sizes& sizes);

}  // namespace headroom::planner
