#include "decoder/gpu/cuda/status.h"

#include <array>
#include <string>

#include "decoder/base/errors.h"

namespace headroom::gpu {

void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // clears the error, so that later calls do not report it again
  throw DeviceError(std::string(call) + ": " + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) +
                    ")");
}

void check(cudnnStatus_t status, const char* call) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  std::array<char, 1024> text{};
  cudnnGetLastErrorString(text.data(), text.size());
  std::string message = std::string(call) + ": " + cudnnGetErrorString(status);
  if (text[0] != '\0') message += std::string(": ") + text.data();
  throw DeviceError(message.substr(0, message.find('\n')));
}

void check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw DeviceError(std::string(call) + ": " + cublasLtGetStatusString(status) + " (" +
                    cublasLtGetStatusName(status) + ")");
}

bool has_happened(cudaEvent_t event) {
  const cudaError_t status = cudaEventQuery(event);
  if (status == cudaErrorNotReady) {
    cudaGetLastError();  // clears cudaErrorNotReady, which is no failure
    return false;
  }
  check(status, "cudaEventQuery");
  return true;
}

}  // namespace headroom::gpu
