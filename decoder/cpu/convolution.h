#pragma once

#include <optional>

#include "decoder/cpu/call_share.h"
#include "decoder/cpu/limited_pool.h"
#include "decoder/interpreter/map_view.h"
#include "decoder/lowering/convolution.h"

namespace headroom {

/// A kernel as it is multiplied with (decoder/cpu/loops/packing.h).
struct PackedKernel {
  KernelShape shape;
  ConvolutionAlgorithm algorithm = ConvolutionAlgorithm::direct;
  const float* values = nullptr;
  const float* bias = nullptr;  ///< one value for each output channel
};

/// The frame that tap `tap` of a kernel over the time reads for an output in frame `t`; none where that is
/// zero. `end` is behind the last frame of the input: where a kernel reads later ones, behind the clip's
/// last.
std::optional<int64_t> frame_of_tap(const KernelShape& shape, int64_t t, int64_t tap, int64_t end);

/// A tile that is convolved. `input` is one block per item and holds `region` with its halo, outside the
/// picture as well, and the frames of the clip that a kernel over the time reads; nothing is padded here.
/// `region` of `target`, which is fp32 too, is written.
struct ConvolutionCall {
  const MapView& input;
  const PackedKernel& kernel;
  const MapView& target;
  const Region& region;
  int64_t items = 1;
  ToldShare told{};  ///< grouped convolutions, which are short, tell nothing
};

/// With all threads. The Winograd algorithm takes workspace from the pool, as winograd_work() says.
void convolve(LimitedPool& pool, const ConvolutionCall& call);

/// The two algorithms, of one group of channels; several groups; a group for each channel.
void convolve_directly(const ConvolutionCall& call);
void convolve_by_winograd(LimitedPool& pool, const ConvolutionCall& call);
void convolve_groups(const ConvolutionCall& call);
void convolve_channels(const ConvolutionCall& call);

}  // namespace headroom
