#pragma once

/// CUDA's own name for a stream, so that headers with launchers need no CUDA header.
struct CUstream_st;

namespace headroom::gpu {

using StreamHandle = CUstream_st*;

}  // namespace headroom::gpu
