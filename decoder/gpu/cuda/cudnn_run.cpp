#include "decoder/gpu/cuda/cudnn_run.h"

#include <array>

#include "decoder/gpu/cuda/status.h"

namespace headroom::gpu {

CudnnRun::CudnnRun(const ConvolutionChunk& chunk) : pack_(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR) {
  constexpr std::array<int64_t, 5> kNumbers{kCudnnInput, kCudnnKernel, kCudnnBias, kCudnnOutput,
                                            kCudnnResidual};
  const std::array<const void*, 5> addresses{chunk.input, chunk.kernel, chunk.bias, chunk.output,
                                             chunk.residual};
  const int64_t tensors = chunk.problem.adds ? 5 : 4;
  const void* workspace = chunk.workspace;
  constexpr const char* kSet = "cudnnBackendSetAttribute";
  check(cudnnBackendSetAttribute(pack_.get(), CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, tensors,
                                 kNumbers.data()),
        kSet);
  check(cudnnBackendSetAttribute(pack_.get(), CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
                                 tensors, addresses.data()),
        kSet);
  check(cudnnBackendSetAttribute(pack_.get(), CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1,
                                 &workspace),
        kSet);
  check(cudnnBackendFinalize(pack_.get()), "cudnnBackendFinalize");
}

void CudnnRun::start(cudnnHandle_t handle, const CudnnPlan& plan) const {
  check(cudnnBackendExecute(handle, plan.plan.get(), pack_.get()), "cudnnBackendExecute");
}

}  // namespace headroom::gpu
