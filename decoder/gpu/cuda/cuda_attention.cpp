#include "decoder/gpu/cuda/cuda_attention.h"

#include "decoder/gpu/cuda/status.h"

namespace headroom::gpu {

CudaAttention::CudaAttention(cudaStream_t compute, cudaStream_t beside, Events& events)
    : compute_(compute), beside_(beside), events_(events) {
  int device = 0, count = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
  processors_ = count;
}

}  // namespace headroom::gpu
