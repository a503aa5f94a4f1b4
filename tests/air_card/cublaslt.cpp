#include <cublasLt.h>

#include <cstring>
#include <vector>

#include "tests/air_card/card.h"
#include "tests/air_card/report.h"
#include "tests/air_card/values.h"

// Matrix products with fp32 sums. As in cuBLASLt, descriptors store their content in the program's memory.
namespace headroom::air {
namespace {

/// Content of a cublasLtMatrixLayoutOpaque_t. Matrices are column-major.
struct Layout {
  int type;
  int64_t rows, columns, stride;

  int64_t bytes() const { return ((columns - 1) * stride + rows) * value_bytes(value_type()); }
  ValueType value_type() const {
    return type == CUDA_R_32F ? ValueType::fp32 : type == CUDA_R_16BF ? ValueType::bf16 : ValueType::fp16;
  }
};
struct Operation {
  int transposed;  ///< applies to matrix a
  int tf32;        ///< rounds both operands to TF32
};
struct Preference {
  uint64_t workspace_bytes;
  uint32_t alignment[4];  ///< of a, b, c and d
};

template <typename T, typename Handle>
T content(Handle from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <typename T, typename Handle>
void write(Handle to, const T& value) {
  std::memcpy(to, &value, sizeof value);
}

/// Workspace limit of all algorithms.
constexpr uint64_t kWorkspaceBytes = 4096;

struct Operand {
  Layout layout{};
  void* data = nullptr;
};

struct Product {
  Operand a, b, d;
  bool transposed = false, tf32 = false;
  float alpha = 1, beta = 0;
  uint64_t workspace_bytes = 0;
  void* workspace = nullptr;

  int64_t depth() const { return b.layout.rows; }
  float a_value(int64_t row, int64_t k) const {
    return factor(a, transposed ? k + row * a.layout.stride : row + k * a.layout.stride);
  }
  float b_value(int64_t k, int64_t column) const { return factor(b, k + column * b.layout.stride); }

 private:
  float factor(const Operand& operand, int64_t index) const {
    const float value = load_value(operand.data, operand.layout.value_type(), index);
    return tf32 ? rounded_to_tf32(value) : value;
  }
};

bool refuse(const std::string& why) {
  wrong_use("cuBLASLt: " + why);
  return false;
}

bool check(const Product& p, const Preference& promised) {
  const Layout &a = p.a.layout, &b = p.b.layout, &d = p.d.layout;
  const int64_t a_rows = p.transposed ? a.columns : a.rows, a_columns = p.transposed ? a.rows : a.columns;
  if (a_rows != d.rows || b.columns != d.columns || a_columns != b.rows) return refuse("extents do not fit");
  if (a.stride < a.rows || b.stride < b.rows || d.stride < d.rows) return refuse("columns overlap");
  const Operand* const operands[] = {&p.a, &p.b, &p.d, &p.d};
  for (size_t i = 0; i < 4; ++i) {
    if (reinterpret_cast<uintptr_t>(operands[i]->data) % promised.alignment[i] != 0)
      return refuse("operand " + std::to_string(i) + " is not aligned as it was promised");
    if (!check_device_range("cuBLASLt", operands[i]->data, operands[i]->layout.bytes())) return false;
  }
  if (p.workspace_bytes < promised.workspace_bytes)
    return refuse("the workspace is smaller than it has to be");
  return promised.workspace_bytes == 0 || check_device_range("cuBLASLt's workspace", p.workspace,
                                                             static_cast<int64_t>(promised.workspace_bytes));
}

/// Matrix a in fp32, as [depth][rows].
std::vector<float> dense(const Product& p) {
  const int64_t rows = p.d.layout.rows;
  std::vector<float> all(static_cast<size_t>(rows * p.depth()));
  for (int64_t k = 0; k < p.depth(); ++k)
    for (int64_t row = 0; row < rows; ++row) all[static_cast<size_t>(k * rows + row)] = p.a_value(row, k);
  return all;
}

void run(const Product& p) {
  const Layout& d = p.d.layout;
  const std::vector<float> a = dense(p);
  const auto columns = [&](int64_t begin, int64_t end) {
    std::vector<float> sums(static_cast<size_t>(d.rows));
    for (int64_t column = begin; column < end; ++column) {
      std::fill(sums.begin(), sums.end(), 0.0F);
      for (int64_t k = 0; k < p.depth(); ++k) {
        const float factor = p.b_value(k, column);
        const float* from = a.data() + k * d.rows;
        for (size_t row = 0; row < sums.size(); ++row) sums[row] += factor * from[row];
      }
      for (int64_t row = 0; row < d.rows; ++row) {
        const int64_t at = row + column * d.stride;
        const float before = p.beta == 0 ? 0 : p.beta * load_value(p.d.data, d.value_type(), at);
        store_value(p.d.data, d.value_type(), at, p.alpha * sums[static_cast<size_t>(row)] + before);
      }
    }
  };
  in_two_halves(d.columns, columns);
}

cublasStatus_t multiply(const Product& p, const Preference& promised, cudaStream_t stream) {
  count("products");
  if (!check(p, promised)) return CUBLAS_STATUS_INVALID_VALUE;
  if (!kernels_are_run()) return CUBLAS_STATUS_SUCCESS;
  enqueue(stream, [p, bytes = promised.workspace_bytes] {
    if (bytes > 0) std::memset(p.workspace, 0xff, bytes);
    run(p);
  });
  return CUBLAS_STATUS_SUCCESS;
}

/// Runs a call that only writes to the program's memory and cannot fail by itself.
template <typename Body>
cublasStatus_t succeed(const char* name, const Body& body) {
  return call(name, CUBLAS_STATUS_INTERNAL_ERROR, [&] {
    body();
    return CUBLAS_STATUS_SUCCESS;
  });
}

}  // namespace

AIR_API cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  return succeed(__func__, [&] {
    *handle = reinterpret_cast<cublasLtHandle_t>(new int64_t(current_device()));
    change("handles", 1);
  });
}
AIR_API cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  return succeed(__func__, [&] {
    delete reinterpret_cast<int64_t*>(handle);
    change("handles", -1);
  });
}
AIR_API size_t cublasLtGetVersion() {
  return 130100;
}
AIR_API const char* cublasLtGetStatusName(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS         ? "CUBLAS_STATUS_SUCCESS"
         : status == CUBLAS_STATUS_INVALID_VALUE ? "CUBLAS_STATUS_INVALID_VALUE"
                                                 : "CUBLAS_STATUS_EXECUTION_FAILED";
}
AIR_API const char* cublasLtGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS ? "success" : "the library failed";
}

AIR_API cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t operation, size_t,
                                                       cublasComputeType_t type, cudaDataType_t) {
  return succeed(__func__, [&] {
    write(operation, Operation{0, type == CUBLAS_COMPUTE_32F_FAST_TF32 ? 1 : 0});
  });
}
AIR_API cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation,
                                                      cublasLtMatmulDescAttributes_t name, const void* value,
                                                      size_t) {
  return succeed(__func__, [&] {
    if (name != CUBLASLT_MATMUL_DESC_TRANSA) return;
    auto all = content<Operation>(operation);
    all.transposed = content<int>(value) == CUBLAS_OP_T ? 1 : 0;
    write(operation, all);
  });
}
AIR_API cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t layout, size_t,
                                                         cudaDataType type, uint64_t rows, uint64_t columns,
                                                         int64_t stride) {
  return succeed(__func__, [&] {
    write(layout, Layout{type, static_cast<int64_t>(rows), static_cast<int64_t>(columns),
                         mutated("leading", 0, stride)});
  });
}
AIR_API cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t preference, size_t) {
  return succeed(__func__, [&] { write(preference, Preference{0, {1, 1, 1, 1}}); });
}
AIR_API cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                            cublasLtMatmulPreferenceAttributes_t name,
                                                            const void* value, size_t) {
  return succeed(__func__, [&] {
    auto all = content<Preference>(preference);
    if (name == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) all.workspace_bytes = content<uint64_t>(value);
    const int first = CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
    if (name >= first && name < first + 4) all.alignment[name - first] = content<uint32_t>(value);
    write(preference, all);
  });
}

AIR_API cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t,
                                                      cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                                      cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                                      cublasLtMatmulPreference_t preference, int,
                                                      cublasLtMatmulHeuristicResult_t results[], int* found) {
  return succeed(__func__, [&] {
    auto promised = content<Preference>(preference);
    if (promised.workspace_bytes > kWorkspaceBytes) promised.workspace_bytes = kWorkspaceBytes;
    static_assert(sizeof promised <= sizeof results[0].algo);
    results[0] = {};
    write(&results[0].algo, promised);
    results[0].workspaceSize = promised.workspace_bytes;
    results[0].state = CUBLAS_STATUS_SUCCESS;
    *found = 1;
  });
}

AIR_API cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                      const void* alpha, const void* a, cublasLtMatrixLayout_t a_layout,
                                      const void* b, cublasLtMatrixLayout_t b_layout, const void* beta,
                                      const void*, cublasLtMatrixLayout_t, void* d,
                                      cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algorithm,
                                      void* workspace, size_t workspace_bytes, cudaStream_t stream) {
  return call(__func__, CUBLAS_STATUS_EXECUTION_FAILED, [&] {
    if (algorithm == nullptr) return CUBLAS_STATUS_NOT_SUPPORTED;
    const auto device = static_cast<int>(*reinterpret_cast<int64_t*>(handle));
    if (!is_on_current_device("cuBLASLt's handle", device)) return CUBLAS_STATUS_EXECUTION_FAILED;
    Product p;
    p.a = {content<Layout>(a_layout), const_cast<void*>(a)};
    p.b = {content<Layout>(b_layout), const_cast<void*>(b)};
    p.d = {content<Layout>(d_layout), d};
    p.transposed = content<Operation>(operation).transposed != 0;
    p.tf32 = content<Operation>(operation).tf32 != 0;
    p.alpha = content<float>(alpha);
    p.beta = content<float>(beta);
    p.workspace = workspace;
    p.workspace_bytes = workspace_bytes;
    return multiply(p, content<Preference>(algorithm), stream);
  });
}

}  // namespace headroom::air
