#pragma once

// The language of kernels, one source for two compilers: nvcc for GPUs of compute capability 8.0 and later,
// and g++ against an emulator that runs blocks of threads on the CPU. Only this header knows which of the two
// compiles. Both provide
//   __global__, __device__, __forceinline__, __launch_bounds__, __grid_constant__, dim3, uint2, uint4,
//   float4, threadIdx, blockIdx, blockDim, gridDim;
//   shared_memory<T>()   the block's dynamic shared memory, aligned to 128 bytes (static __shared__ arrays
//   work
//                        too, but only of this memory does the emulator see what was never written);
//   __syncthreads(), __syncwarp();
//   __shfl_sync, __shfl_xor_sync, __shfl_down_sync   of whole warps, with kAllLanes: blocks have whole warps;
//   Half, Bfloat16       stored values: to_float(), rounded<T>(); pairs in 32 bits: packed<T>(),
//   unpacked<T>(); mma_m16n8k16<T>, ldmatrix_x2, ldmatrix_x4 and ldmatrix_…_transposed, cp_async_16,
//   cp_async_commit, cp_async_wait<N>
//                        PTX's instructions of these names, fragments laid out as PTX lays them out;
//   in_global()          says that a pointer is not into shared memory, where the compiler cannot see it;
//   float_of(), bits_of()   fp32 and its bits;
//   raise_flag()         makes a word 1 that any thread may make 1;
//   expf, erff, sqrtf … of <cmath>, min and max of int32_t;
//   reciprocal()         within a unit in the last place; zero where that is no normal number;
//   power_of_2()         within two units in the last place;
//   most_shared_bytes()  that a block can have, and multiprocessors(), of the device in use;
//   launch(Launch{…}, kernel, arguments…)   throws DeviceError, which names the kernel.

#if defined(__CUDACC__)
#include "decoder/gpu/kernels/cuda_language.h"
#elif defined(HEADROOM_EMULATED_GPU)
#include "tests/emulated_gpu/emulated_language.h"
#else
#error "kernels are compiled by nvcc, or with HEADROOM_EMULATED_GPU"
#endif
