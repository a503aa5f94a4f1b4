#pragma once

#include <cstdint>

#include "decoder/lowering/convolution.h"

namespace headroom::kernels {

/// Matrices are cut into panels of this many columns, the last one narrower but a multiple of 16. A panel
/// lies row by row, one panel after the other. It is as wide as multiply() takes columns: what is read in the
/// order in which it lies has all of the first-level cache, where every second or fourth line would have a
/// part of it.
int64_t panel_columns();

/// Where output `output`, a multiple of 16, begins in a matrix, and the floats from one input to the next
/// there.
int64_t panel_offset(const KernelShape& shape, int64_t output);
int64_t panel_width(const KernelShape& shape, int64_t output);

/// Where sixteen neighbouring outputs of some inputs lie in a packed kernel. Matrix m, input k begins at
/// values + m * matrix + k * input.
struct PackedPart {
  float* values = nullptr;
  int64_t matrix = 0, input = 0;
};

// What follows packs the matrices of one frame of a kernel.

/// Matrices for the direct algorithm, of inputs [0, inputs) for `outputs` ≤ 16 outputs, zeros for those that
/// lack. `taps` are [output][input][matrix] as FoldedConvolution (decoder/weights) reads them, one output
/// `output_distance` floats after the other.
void pack_direct(const KernelShape& shape, const float* taps, int64_t output_distance, int64_t inputs,
                 int64_t outputs, const PackedPart& direct);

/// Matrices for the Winograd algorithm, from those for the direct one, of the same sixteen outputs.
void pack_winograd(const KernelShape& shape, const PackedPart& direct, int64_t inputs,
                   const PackedPart& winograd);

}  // namespace headroom::kernels
