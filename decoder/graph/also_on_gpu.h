#pragma once

// What kernels for GPUs compute as the CPU does is written once.
#if defined(__CUDACC__)
#define HEADROOM_ALSO_ON_GPU __host__ __device__
#else
#define HEADROOM_ALSO_ON_GPU
#endif
