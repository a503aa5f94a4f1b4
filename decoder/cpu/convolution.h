#pragma once

#include <optional>

#include "decoder/cpu/call_share.h"
#include "decoder/cpu/limited_pool.h"
#include "decoder/interpreter/map_view.h"
#include "decoder/operations/convolution.h"

namespace headroom {

/// A kernel packed for multiplication (decoder/cpu/loops/packing.h).
struct PackedKernel {
  KernelShape shape;
  ConvolutionAlgorithm algorithm = ConvolutionAlgorithm::direct;
  const float* values = nullptr;
  const float* bias = nullptr;  ///< one value for each output channel
};

/// Input frame that tap `tap` of a temporal kernel reads for output frame `t`; none if that input is zero.
/// `end` is one past the input's last frame. For kernels that read later frames it is one past the clip's.
std::optional<int64_t> frame_of_tap(const KernelShape& shape, int64_t t, int64_t tap, int64_t end);

/// Arguments of a convolution. `input` has one block per item. It holds `region` with its halo, also outside
/// the picture, and the clip's frames that a temporal kernel reads. The convolution adds no padding. The
/// result goes to `region` of `target`. Both views are fp32.
struct ConvolutionCall {
  const MapView& input;
  const PackedKernel& kernel;
  const MapView& target;
  const Region& region;
  int64_t items = 1;
  ToldShare told{};  ///< unused by grouped convolutions, which are short
};

/// Convolves on all threads. The Winograd algorithm allocates the workspace of winograd_work() from the pool.
void convolve(LimitedPool& pool, const ConvolutionCall& call);

/// Implementations: direct and Winograd for one group of channels, then several groups, then depthwise.
void convolve_directly(const ConvolutionCall& call);
void convolve_by_winograd(LimitedPool& pool, const ConvolutionCall& call);
void convolve_groups(const ConvolutionCall& call);
void convolve_channels(const ConvolutionCall& call);

}  // namespace headroom
