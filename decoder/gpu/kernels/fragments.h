#pragma once

#include "decoder/gpu/kernels/language.h"

// Tiles of 16-bit values in shared memory, and their fragments for tensor cores. A tile has rows of kPitch
// bytes in chunks of 16 bytes. The chunks of a row are permuted by the row number to avoid bank conflicts:
// between the eight rows of an ldmatrix, and between eight chunks that cp.async writes.
namespace headroom::gpu {

template <int kPitch>
__device__ __forceinline__ int chunk_offset(int row, int chunk) {
  static_assert(kPitch == 64 || kPitch % 128 == 0);
  const int other = kPitch == 64 ? (row >> 1) & 3 : row & 7;
  return row * kPitch + ((chunk ^ other) << 4);
}

__device__ __forceinline__ int lane_of(uint32_t thread) {
  return static_cast<int>(thread % kWarp);
}

// Byte offset of the row that a lane passes to ldmatrix. The matrices begin at `row`, a multiple of 8, and
// `chunk`.

/// Operand a of a product: 16 rows of 16 values.
template <int kPitch>
__device__ __forceinline__ int a_offset(int row, int chunk) {
  const int lane = lane_of(threadIdx.x);
  return chunk_offset<kPitch>(row + lane % 16, chunk + lane / 16);
}
/// Operand b of two adjacent products: 16 columns of 16 values. The tile stores the columns of b as rows.
template <int kPitch>
__device__ __forceinline__ int b_offset(int row, int chunk) {
  const int lane = lane_of(threadIdx.x);
  return chunk_offset<kPitch>(row + lane % 8 + lane / 16 * 8, chunk + lane / 8 % 2);
}
/// Operand b for ldmatrix_x4_transposed: 16 rows of 16 columns. The tile stores the rows of b as rows.
template <int kPitch>
__device__ __forceinline__ int b_offset_of_rows(int row, int chunk) {
  return a_offset<kPitch>(row, chunk);
}

__device__ __forceinline__ void load_pair(uint32_t (&left)[2], uint32_t (&right)[2], const std::byte* row) {
  uint32_t b[4];
  ldmatrix_x4(b, row);
  left[0] = b[0], left[1] = b[1], right[0] = b[2], right[1] = b[3];
}
__device__ __forceinline__ void load_pair_transposed(uint32_t (&left)[2], uint32_t (&right)[2],
                                                     const std::byte* row) {
  uint32_t b[4];
  ldmatrix_x4_transposed(b, row);
  left[0] = b[0], left[1] = b[1], right[0] = b[2], right[1] = b[3];
}

/// Moves an offset by `rows`, a multiple of 8, and by `chunks`, an even number. The `chunk` that the offset
/// was made with must be a multiple of 8 (of 4 in rows of 64 bytes). Then the move takes one instruction.
template <int kPitch>
__device__ __forceinline__ int moved(int offset, int rows, int chunks) {
  constexpr int kOfRun = kPitch == 64 ? 4 : 8;
  return (offset ^ (chunks % kOfRun << 4)) + chunks / kOfRun * 128 + rows * kPitch;
}

}  // namespace headroom::gpu
