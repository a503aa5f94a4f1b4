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

/// Convolves a tile, with all threads. `input` is one block per item and holds `region` with its halo,
/// outside the picture as well, and the frames of the clip that a kernel over the time reads; nothing is
/// padded here. Writes `region` of `target`, which is fp32 too. The Winograd algorithm takes workspace from
/// the pool, as winograd_work() says. Grouped convolutions, which are short, tell nothing of their share.
void convolve(LimitedPool& pool, const MapView& input, const PackedKernel& kernel, const MapView& target,
              const Region& region, int64_t items, const ToldShare& told = {});

/// The two algorithms, of one group of channels; several groups; a group for each channel.
void convolve_directly(const MapView& input, const PackedKernel& kernel, const MapView& target,
                       const Region& region, int64_t items, const ToldShare& told);
void convolve_by_winograd(LimitedPool& pool, const MapView& input, const PackedKernel& kernel,
                          const MapView& target, const Region& region, int64_t items, const ToldShare& told);
void convolve_groups(const MapView& input, const PackedKernel& kernel, const MapView& target,
                     const Region& region, int64_t items);
void convolve_channels(const MapView& input, const PackedKernel& kernel, const MapView& target,
                       const Region& region, int64_t items);

}  // namespace headroom
