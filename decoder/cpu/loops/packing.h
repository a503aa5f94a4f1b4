#pragma once

#include <cstdint>

#include "decoder/operations/convolution.h"

namespace headroom::kernels {

/// Matrices are cut into panels of this many columns. The last panel can be narrower, by a multiple of 16.
/// Panels lie one after another, each row by row. A panel is as wide as the columns that multiply() takes at
/// one time: reading it in storage order uses the whole first-level cache. Reading every second or fourth
/// line would use only a part of it.
int64_t panel_columns();

/// Offset of an output's first value in a matrix, and the distance from one input to the next there, both in
/// floats. `output` is a multiple of 16.
int64_t panel_offset(const KernelShape& shape, int64_t output);
int64_t panel_width(const KernelShape& shape, int64_t output);

/// Location of sixteen neighbouring outputs of some inputs in a packed kernel. Matrix m, input k begins at
/// values + m * matrix + k * input.
struct PackedPart {
  float* values = nullptr;
  int64_t matrix = 0, input = 0;
};

// The functions below pack the matrices of one frame of a kernel.

/// Packs the direct algorithm's matrices, of inputs [0, inputs) for `outputs` ≤ 16 outputs. Missing outputs
/// become zeros. `taps` are [output][input][matrix] as FoldedConvolution (decoder/weights) reads them, with a
/// stride of `output_distance` floats between outputs.
void pack_direct(const KernelShape& shape, const float* taps, int64_t output_distance, int64_t inputs,
                 int64_t outputs, const PackedPart& direct);

/// Packs the Winograd algorithm's matrices from the direct algorithm's, for the same sixteen outputs.
void pack_winograd(const KernelShape& shape, const PackedPart& direct, int64_t inputs,
                   const PackedPart& winograd);

}  // namespace headroom::kernels
