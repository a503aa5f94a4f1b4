#pragma once

// Portability layer of the kernels. nvcc compiles them for GPUs of compute capability 8.0 and later. g++
// compiles them against an emulator that runs thread blocks on the CPU. Only this header depends on the
// compiler. Both provide
//   __global__, __device__, __forceinline__, __launch_bounds__, __grid_constant__, dim3, uint2, uint4,
//   float4, threadIdx, blockIdx, blockDim, gridDim;
//   shared_memory<T>()   the block's dynamic shared memory, aligned to 128 bytes. Static __shared__ arrays
//                        work too, but the emulator detects uninitialised reads only in dynamic memory;
//   __syncthreads(), __syncwarp();
//   __shfl_sync, __shfl_xor_sync, __shfl_down_sync   only with kAllLanes: blocks consist of full warps;
//   Half, Bfloat16       stored values: to_float(), rounded<T>();
//   packed<T>(), unpacked<T>()   pairs of stored values in 32 bits;
//   mma_m16n8k16<T>, ldmatrix_x2, ldmatrix_x4, ldmatrix_…_transposed, cp_async_16, cp_async_commit,
//   cp_async_wait<N>     PTX's instructions of these names, with PTX's fragment layout;
//   in_global()          asserts that a pointer is not into shared memory, if the compiler cannot infer it;
//   float_of(), bits_of()   fp32 and its bits;
//   raise_flag()         sets a word to 1; several threads may set it;
//   arrive()             adds 1 to a counter and returns its old value. The caller then sees what threads of
//                        all blocks wrote before they arrived;
//   expf, erff, sqrtf … of <cmath>, min and max of int32_t;
//   reciprocal()         within a unit in the last place; zero if the result is subnormal;
//   power_of_2()         within two units in the last place;
//   most_shared_bytes()  per block, and multiprocessors(): properties of the current device;
//   launch(Launch{…}, kernel, arguments…)   throws DeviceError, which names the kernel.

#if defined(__CUDACC__)
#include "decoder/gpu/kernels/cuda_language.h"
#elif defined(HEADROOM_EMULATED_GPU)
#include "tests/emulated_gpu/emulated_language.h"
#else
#error "kernels are compiled by nvcc, or with HEADROOM_EMULATED_GPU"
#endif
