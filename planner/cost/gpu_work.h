#pragma once

#include <cstdint>
#include <vector>

#include "decoder/graph/geometry.h"
#include "decoder/plan/plan.h"
#include "decoder/plan/sizes.h"
#include "planner/cost/device_costs.h"

// Work of one step on a GPU: arithmetic, kernels, bytes.
namespace headroom::planner {

/// Positions of one item that one call of a step processes.
struct CallExtent {
  int64_t frames = 1;
  int64_t area = 0;  ///< rows times columns
  int64_t positions() const { return frames * area; }
};

/// Wave quantization of a convolution on tensor cores. Each multiprocessor computes blocks of 128 positions
/// by some output channels. A wave is one block on every multiprocessor. A call takes a whole number of
/// waves.
struct ConvolutionWaves {
  double wave_seconds = 0;
  int64_t blocks_across = 0;  ///< blocks that cover the output channels; 0 if waves are not counted
  int64_t phases = 1;         ///< calls among which the positions of a frame are divided
};

/// How a step divides the frames of a tile among calls, one after another.
struct FrameCalls {
  bool by_frame = false;
  int64_t phase_bytes = 0;  ///< for each output position of a convolution over upsampling, else 0

  int64_t frames_at_once(const CallExtent& extent) const;
  /// Inline, because pricing a shape asks for it several times for each step.
  int64_t calls(const CallExtent& extent) const {
    if (by_frame) return extent.frames;
    if (phase_bytes == 0) return extent.frames > 0 ? 1 : 0;
    return ceil_divide(extent.frames, frames_at_once(extent));
  }
  /// Lower bound on calls(), summed over any tiles that cover this extent.
  int64_t least_calls(const CallExtent& extent) const;
};
FrameCalls frame_calls(const Graph& graph, const Step& step, const Sizes& sizes);

/// Arithmetic of a step, for one item.
class StepWork {
 public:
  /// No arithmetic if the step only moves values.
  StepWork(const GpuCard& card, const Graph& graph, const Step& step, const Sizes& sizes);

  double seconds(const CallExtent& call) const {
    return waves_.blocks_across == 0 ? least_seconds(call.positions()) : wave_seconds(call);
  }
  /// Lower bound on seconds(), summed over any tiles that cover this many positions.
  double least_seconds(int64_t positions) const { return seconds_per_position_ * double(positions); }

 private:
  double wave_seconds(const CallExtent& call) const;

  int64_t multiprocessors_;
  double seconds_per_position_ = 0;
  ConvolutionWaves waves_;
  FrameCalls frame_calls_;
};

/// Bytes that a step moves for each position of one item.
struct StepTraffic {
  struct Read {
    Operand operand;
    double bytes = 0;
  };
  std::vector<Read> reads;
  double written = 0;
  bool keeps = false;  ///< the step writes a kept tensor
  double emitted = 0;  ///< bytes sent to the host
  /// Kernels after the step's own that read and rewrite its whole output. An upsampling convolution
  /// interleaves its phases this way, and some convolutions apply their activation this way.
  int32_t rewrites = 0;

  double moved() const;  ///< by all its kernels, without emitted bytes
};
StepTraffic traffic_of(const Graph& graph, const Step& step, const Sizes& sizes);

/// Kernels of a step for all items of a tile, if it divides the frames among this many calls.
int64_t kernels_of(const Graph& graph, const Step& step, int64_t calls, const Sizes& sizes);

}  // namespace headroom::planner
