#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

// Status codes of CUDA's libraries. check() throws a DeviceError with the call's name and the library's
// message for any failure.
namespace headroom::gpu {

void check(cudaError_t status, const char* call);
void check(cudnnStatus_t status, const char* call);
void check(cublasStatus_t status, const char* call);

bool has_happened(cudaEvent_t event);

}  // namespace headroom::gpu
