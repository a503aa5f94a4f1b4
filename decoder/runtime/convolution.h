#pragma once

#include "decoder/plan/convolution.h"
#include "decoder/runtime/map_view.h"

namespace headroom {

/// A kernel as it is multiplied with (decoder/kernels/packing.h).
struct PackedKernel {
  KernelShape shape;
  ConvolutionForm form = ConvolutionForm::direct;
  const float* values = nullptr;
};

/// Convolves a tile, with all threads. `input` is one block per item and holds `region` with its halo, zeros
/// outside the picture included; nothing is padded here. Writes `region` of `target`, which is fp32 too.
/// `bias` has one value for each output channel. The Winograd form takes workspace from the current pool, as
/// winograd_work() says.
void convolve(const MapView& input, const PackedKernel& kernel, const float* bias, const MapView& target,
              const Region& region, int64_t items);

/// The two forms, of one group of channels; several groups; a group for each channel.
void convolve_directly(const MapView& input, const PackedKernel& kernel, const float* bias,
                       const MapView& target, const Region& region, int64_t items);
void convolve_by_winograd(const MapView& input, const PackedKernel& kernel, const float* bias,
                          const MapView& target, const Region& region, int64_t items);
void convolve_groups(const MapView& input, const PackedKernel& kernel, const float* bias,
                     const MapView& target, const Region& region, int64_t items);
void convolve_channels(const MapView& input, const PackedKernel& kernel, const float* bias,
                       const MapView& target, const Region& region, int64_t items);

}  // namespace headroom
