#pragma once

// Marks a function that the CPU and GPU kernels share, so that both compute the same values.
#if defined(__CUDACC__)
#define HEADROOM_ALSO_ON_GPU __host__ __device__
#else
#define HEADROOM_ALSO_ON_GPU
#endif
