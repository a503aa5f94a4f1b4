#include "decoder/gpu/cuda/cuda_attention.h"

#include "decoder/gpu/cuda/status.h"

namespace headroom::gpu {
namespace {

cublasLtMatrixLayoutOpaque_t layout(cudaDataType_t type, int64_t rows, int64_t columns, int64_t distance) {
  cublasLtMatrixLayoutOpaque_t result;
  check(cublasLtMatrixLayoutInit(&result, type, static_cast<uint64_t>(rows), static_cast<uint64_t>(columns),
                                 distance),
        "cublasLtMatrixLayoutInit");
  return result;
}

cudaDataType_t cuda_type_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::fp32:
      return CUDA_R_32F;
    case Dtype::bf16:
      return CUDA_R_16BF;
    case Dtype::fp16:
      return CUDA_R_16F;
  }
  return CUDA_R_32F;
}

}  // namespace

/// Operands in cuBLAS's column-major order: toᵀ = bᵀ aᵀ.
struct CublasProducts::Operands {
  cublasLtMatmulDescOpaque_t product;
  cublasLtMatrixLayoutOpaque_t a, b, to;

  explicit Operands(const ProductShape& p) {
    const cudaDataType_t type = cuda_type_of(p.dtype);
    a = p.transposed ? layout(type, p.depth, p.columns, p.b_row) : layout(type, p.columns, p.depth, p.b_row);
    b = layout(type, p.depth, p.rows, p.a_row);
    to = layout(CUDA_R_32F, p.columns, p.rows, p.to_row);
    const cublasComputeType_t compute = p.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    check(cublasLtMatmulDescInit(&product, compute, CUDA_R_32F), "cublasLtMatmulDescInit");
    const cublasOperation_t operation = p.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    check(
        cublasLtMatmulDescSetAttribute(&product, CUBLASLT_MATMUL_DESC_TRANSA, &operation, sizeof(operation)),
        "cublasLtMatmulDescSetAttribute");
  }
};

CublasProducts::CublasProducts(cudaStream_t stream) : stream_(stream) {
  check(cublasLtCreate(&handle_), "cublasLtCreate");
}
CublasProducts::~CublasProducts() {
  cublasLtDestroy(handle_);
}

std::optional<MatrixProducts::Choice> CublasProducts::suggested(const ProductShape& shape,
                                                                int64_t workspace_bytes) {
  Operands operands(shape);
  cublasLtMatmulPreferenceOpaque_t preference;
  check(cublasLtMatmulPreferenceInit(&preference), "cublasLtMatmulPreferenceInit");
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    check(cublasLtMatmulPreferenceSetAttribute(&preference, attribute, &value, sizeof(value)),
          "cublasLtMatmulPreferenceSetAttribute");
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<uint64_t>(workspace_bytes));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, shape.b_alignment);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, shape.a_alignment);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, shape.to_alignment);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, shape.to_alignment);
  cublasLtMatmulHeuristicResult_t result{};
  int found = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle_, &operands.product, &operands.a, &operands.b, &operands.to,
                                     &operands.to, &preference, 1, &result, &found);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return std::nullopt;
  check(status, "cublasLtMatmulAlgoGetHeuristic");
  if (found == 0 || result.state != CUBLAS_STATUS_SUCCESS) return std::nullopt;
  algorithms_.push_back(result.algo);
  return algorithms_.size() - 1;
}

std::optional<MatrixProducts::Choice> CublasProducts::choose(const ProductShape& shape,
                                                             int64_t workspace_bytes) {
  const std::pair key(shape, workspace_bytes);
  auto known = chosen_.find(key);
  if (known == chosen_.end()) known = chosen_.emplace(key, suggested(shape, workspace_bytes)).first;
  return known->second;
}

void CublasProducts::multiply(const MatrixProduct& p, Choice choice, void* workspace,
                              int64_t workspace_bytes) {
  Operands operands(shape_of(p));
  const float one = 1, before = p.add ? 1 : 0;
  check(cublasLtMatmul(handle_, &operands.product, &one, p.b, &operands.a, p.a, &operands.b, &before, p.to,
                       &operands.to, p.to, &operands.to, &algorithms_.at(choice), workspace,
                       static_cast<size_t>(workspace_bytes), stream_),
        "cublasLtMatmul");
}

CudaAttention::CudaAttention(cudaStream_t compute, cudaStream_t beside, Events& events)
    : compute_(compute), beside_(beside), events_(events) {
  int device = 0, count = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
  processors_ = count;
}

}  // namespace headroom::gpu
