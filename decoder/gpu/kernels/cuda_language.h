#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <string>
#include <type_traits>

#include "decoder/base/errors.h"
#include "decoder/gpu/kernels/language_types.h"

// Implementation of language.h for nvcc. Only language.h includes it.
namespace headroom::gpu {

struct Launch {
  const char* kernel;  ///< its name in messages
  dim3 grid;
  dim3 block;
  size_t shared_bytes = 0;  ///< dynamic
  StreamHandle stream = nullptr;
};

inline void check_kernel(cudaError_t result, const char* kernel) {
  if (result == cudaSuccess) return;
  cudaGetLastError();  // reported here
  throw DeviceError(std::string("kernel ") + kernel + ": " + cudaGetErrorString(result));
}

/// Starts a kernel. Does nothing if the grid is empty.
template <typename... Parameters, typename... Arguments>
void launch(const Launch& launch, void (*kernel)(Parameters...), const Arguments&... arguments) {
  if (launch.grid.x == 0 || launch.grid.y == 0 || launch.grid.z == 0) return;
  constexpr size_t kWithoutAsking = size_t{48} << 10;
  if (launch.shared_bytes > kWithoutAsking) {
    check_kernel(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      static_cast<int>(launch.shared_bytes)),
                 launch.kernel);
  }
  cudaLaunchConfig_t config{};
  config.gridDim = launch.grid;
  config.blockDim = launch.block;
  config.dynamicSmemBytes = launch.shared_bytes;
  config.stream = launch.stream;
  check_kernel(cudaLaunchKernelEx(&config, kernel, arguments...), launch.kernel);
}

inline int of_device(cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  cudaError_t result = cudaGetDevice(&device);
  if (result == cudaSuccess) result = cudaDeviceGetAttribute(&value, attribute, device);
  if (result != cudaSuccess)
    throw DeviceError(std::string("what the GPU has: ") + cudaGetErrorString(result));
  return value;
}
inline size_t most_shared_bytes() {
  return static_cast<size_t>(of_device(cudaDevAttrMaxSharedMemoryPerBlockOptin));
}
inline int multiprocessors() {
  return of_device(cudaDevAttrMultiProcessorCount);
}

template <typename T>
__device__ __forceinline__ T* shared_memory() {
  extern __shared__ __align__(128) unsigned char headroom_shared_memory[];
  return reinterpret_cast<T*>(headroom_shared_memory);
}

template <typename T>
__device__ __forceinline__ T* in_global(T* pointer) {
  __builtin_assume(__isGlobal(pointer));
  return pointer;
}

__device__ __forceinline__ void raise_flag(uint32_t* flag) {
  *static_cast<volatile uint32_t*>(flag) = 1;
}

__device__ __forceinline__ uint32_t arrive(uint32_t* counter) {
  __threadfence();
  const uint32_t before = atomicAdd(counter, 1);
  __threadfence();
  return before;
}

__device__ __forceinline__ float float_of(uint32_t bits) {
  return __uint_as_float(bits);
}
__device__ __forceinline__ uint32_t bits_of(float value) {
  return __float_as_uint(value);
}

__device__ __forceinline__ float reciprocal(float value) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
  return result;
}

__device__ __forceinline__ float to_float(float value) {
  return value;
}
__device__ __forceinline__ float to_float(Half value) {
  return __half2float(__ushort_as_half(value.bits));
}
__device__ __forceinline__ float to_float(Bfloat16 value) {
  return __uint_as_float(static_cast<uint32_t>(value.bits) << 16);
}

/// Rounds to nearest, ties to even.
template <typename T>
__device__ __forceinline__ T rounded(float value) {
  if constexpr (std::is_same_v<T, Half>) {
    return {__half_as_ushort(__float2half_rn(value))};
  } else if constexpr (std::is_same_v<T, Bfloat16>) {
    return {__bfloat16_as_ushort(__float2bfloat16_rn(value))};
  } else {
    return value;
  }
}

/// Packs two values into 32 bits; the first is in the lower half.
template <typename T>
__device__ __forceinline__ uint32_t packed(float first, float second) {
  if constexpr (std::is_same_v<T, Half>) {
    const __half2 pair = __floats2half2_rn(first, second);
    return static_cast<uint32_t>(__half_as_ushort(__high2half(pair))) << 16 |
           __half_as_ushort(__low2half(pair));
  } else {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(first, second);
    return static_cast<uint32_t>(__bfloat16_as_ushort(__high2bfloat16(pair))) << 16 |
           __bfloat16_as_ushort(__low2bfloat16(pair));
  }
}
template <typename T>
__device__ __forceinline__ void unpacked(uint32_t pair, float& first, float& second) {
  if constexpr (std::is_same_v<T, Half>) {
    first = to_float(Half{static_cast<uint16_t>(pair & 0xffff)});
    second = to_float(Half{static_cast<uint16_t>(pair >> 16)});
  } else {
    first = float_of(pair << 16);
    second = float_of(pair & 0xffff0000);
  }
}

/// Approximate 2^exponent. Results below the smallest normal number become 0.
__device__ __forceinline__ float power_of_2(float exponent) {
  float value;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(value) : "f"(exponent));
  return value;
}

/// d += a b for a of 16 × 16, b of 16 × 8.
template <typename T>
__device__ __forceinline__ void mma_m16n8k16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  if constexpr (std::is_same_v<T, Half>) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else {
    static_assert(std::is_same_v<T, Bfloat16>);
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
}

__device__ __forceinline__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

/// Loads four 8 × 8 matrices of 16-bit values from shared memory. Lanes 0 … 7 pass the row addresses of the
/// first matrix, lanes 8 … 15 those of the second, and so on. Rows are aligned to 16 bytes.
__device__ __forceinline__ void ldmatrix_x4(uint32_t (&values)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(values[0]), "=r"(values[1]), "=r"(values[2]), "=r"(values[3])
               : "r"(shared_address(row))
               : "memory");
}
__device__ __forceinline__ void ldmatrix_x4_transposed(uint32_t (&values)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(values[0]), "=r"(values[1]), "=r"(values[2]), "=r"(values[3])
               : "r"(shared_address(row))
               : "memory");
}
__device__ __forceinline__ void ldmatrix_x2(uint32_t (&values)[2], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
               : "=r"(values[0]), "=r"(values[1])
               : "r"(shared_address(row))
               : "memory");
}
__device__ __forceinline__ void ldmatrix_x2_transposed(uint32_t (&values)[2], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
               : "=r"(values[0]), "=r"(values[1])
               : "r"(shared_address(row))
               : "memory");
}

/// Copies 16 bytes to shared memory asynchronously. Both addresses are aligned to 16. If not `present`, reads
/// nothing and writes zeros.
__device__ __forceinline__ void cp_async_16(void* shared, const void* global, bool present = true) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)), "l"(global),
               "r"(present ? 16 : 0)
               : "memory");
}
__device__ __forceinline__ void cp_async_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
/// Waits until at most the last N groups of this thread's copies are in flight. Other threads see the data
/// after a barrier.
template <int N>
__device__ __forceinline__ void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

}  // namespace headroom::gpu
