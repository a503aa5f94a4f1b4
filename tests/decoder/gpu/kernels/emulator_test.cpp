#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <vector>

#include "decoder/base/errors.h"
#include "decoder/cpu/loops/storage.h"
#include "decoder/gpu/kernels/language.h"
#include "tests/support/random.h"

namespace headroom::gpu {
namespace {

using test::Random;

__global__ void number(uint32_t* numbers) {
  const uint32_t block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const uint32_t thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  numbers[block * blockDim.x * blockDim.y * blockDim.z + thread] += block * 1000 + thread;
}

TEST_CASE("every thread of every block runs once") {
  const dim3 grid(3, 5, 7), block(4, 8, 3);
  std::vector<uint32_t> numbers(3 * 5 * 7 * 96);
  launch({.kernel = "number", .grid = grid, .block = block}, number, numbers.data());
  bool right = true;
  for (size_t i = 0; i < numbers.size(); ++i) right = right && numbers[i] == i / 96 * 1000 + i % 96;
  CHECK(right);
}

/// Sums over blocks of two warps and more, first through shuffles, then through shared memory.
__global__ void sum(const float* values, float* sums) {
  auto* shared = shared_memory<float>();
  float value = values[blockIdx.x * blockDim.x + threadIdx.x];
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(kAllLanes, value, distance);
  if (threadIdx.x % kWarp == 0) shared[threadIdx.x / kWarp] = value;
  __syncthreads();
  float total = 0;
  for (uint32_t warp = 0; warp < blockDim.x / kWarp; ++warp) total += shared[warp];
  sums[blockIdx.x * blockDim.x + threadIdx.x] = total;
}

TEST_CASE("shuffles, barriers and shared memory") {
  const uint32_t threads = GENERATE(32, 64, 256, 1024);
  const uint32_t blocks = 33;
  std::vector<float> values(threads * blocks), sums(values.size());
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 17);
  launch({.kernel = "sum", .grid = blocks, .block = threads, .shared_bytes = threads / 32 * sizeof(float)},
         sum, values.data(), sums.data());
  for (uint32_t block = 0; block < blocks; ++block) {
    float expected = 0;
    for (uint32_t i = 0; i < threads; ++i) expected += values[block * threads + i];
    for (uint32_t i = 0; i < threads; ++i) REQUIRE(sums[block * threads + i] == expected);
  }
}

__global__ void shuffle_all(int* out) {
  const auto lane = static_cast<int>(threadIdx.x);
  out[lane] = __shfl_sync(kAllLanes, lane * 3, (lane + 5) % kWarp);
  out[kWarp + lane] = static_cast<int>(__shfl_down_sync(kAllLanes, double(lane), 3));
  out[2 * kWarp + lane] = __shfl_xor_sync(kAllLanes, lane, 9);
}

TEST_CASE("each shuffle takes from the lane that it names") {
  std::vector<int> out(3 * kWarp);
  launch({.kernel = "shuffle_all", .grid = 1, .block = kWarp}, shuffle_all, out.data());
  for (int lane = 0; lane < kWarp; ++lane) {
    CHECK(out[static_cast<size_t>(lane)] == (lane + 5) % kWarp * 3);
    CHECK(out[static_cast<size_t>(kWarp + lane)] == (lane + 3 < kWarp ? lane + 3 : lane));
    CHECK(out[static_cast<size_t>(2 * kWarp + lane)] == (lane ^ 9));
  }
}

__global__ void miss_block(int) {
  if (threadIdx.x != 37) __syncthreads();
}
__global__ void miss_warp(int) {
  if (threadIdx.x != 37) __syncwarp();
}
__global__ void meet_elsewhere(int) {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}
__global__ void write_beyond(int at) {
  shared_memory<float>()[at] = 1;
}
__global__ void part_of_a_warp(int) {
  __syncwarp();
}

std::string error_of(void (*kernel)(int), uint32_t threads, int argument = 0) {
  try {
    launch({.kernel = "broken", .grid = 40, .block = threads, .shared_bytes = 64}, kernel, argument);
  } catch (const DeviceError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("a kernel that breaks a rule is reported, and the next one runs") {
  using Catch::Matchers::Contains;
  CHECK_THAT(error_of(miss_block, 64), Contains("kernel broken") && Contains("emulator_test.cpp") &&
                                           Contains("for threads that do not come"));
  CHECK_THAT(error_of(miss_warp, 256), Contains("for threads that do not come"));
  CHECK_THAT(error_of(meet_elsewhere, 64), Contains("meets the block at") && Contains(", others at"));
  CHECK_THAT(error_of(write_beyond, 32, 16), Contains("outside its shared memory"));
  CHECK_THAT(error_of(write_beyond, 32, -1), Contains("outside its shared memory"));
  CHECK_THAT(error_of(part_of_a_warp, 48), Contains("fewer than 32 lanes"));
  CHECK_THAT(error_of(write_beyond, 1025), Contains("no GPU runs"));
  CHECK(error_of(write_beyond, 32, 15) == "");
}

/// Neighbours read one another's value without a barrier between.
__global__ void race(float* out, int distance) {
  auto* shared = shared_memory<float>();
  shared[threadIdx.x] = 1;
  const float value =
      shared[static_cast<int>(threadIdx.x) + distance < 0 ? 0 : (threadIdx.x + distance) % 64];
  if (value != 1) *out = value;
}

TEST_CASE("a barrier that is left out shows, whoever reads what the other writes") {
  for (const int distance : {-1, 1}) {
    float out = 0;
    launch({.kernel = "race", .grid = 2, .block = 64, .shared_bytes = 256}, race, &out, distance);
    CHECK(std::isnan(out));
  }
}

template <typename T>
__global__ void multiply(const T* a, const T* b, const float* c, float* d) {
  const uint32_t lane = threadIdx.x, group = lane / 4, pair = lane % 4;
  const auto two = [](const T* from, uint32_t distance) {
    return uint32_t{from[0].bits} | uint32_t{from[distance].bits} << 16;
  };
  uint32_t of_a[4], of_b[2];
  for (uint32_t i = 0; i < 4; ++i) of_a[i] = two(a + (group + i % 2 * 8) * 16 + 2 * pair + i / 2 * 8, 1);
  for (uint32_t i = 0; i < 2; ++i) of_b[i] = two(b + (2 * pair + i * 8) * 8 + group, 8);
  float sums[4];
  for (uint32_t i = 0; i < 4; ++i) sums[i] = c[(group + i / 2 * 8) * 8 + 2 * pair + i % 2];
  mma_m16n8k16<T>(sums, of_a, of_b);
  for (uint32_t i = 0; i < 4; ++i) d[(group + i / 2 * 8) * 8 + 2 * pair + i % 2] = sums[i];
}

/// Multiplies with fragments from shared memory: a by rows, b by rows transposed.
template <typename T>
__global__ void multiply_from_shared(const T* a, const T* b, const float* c, float* d) {
  const uint32_t lane = threadIdx.x, group = lane / 4, pair = lane % 4;
  T* shared = shared_memory<T>();
  T* shared_b = shared + 16 * 16;
  cp_async_16(shared + lane * 8, a + lane * 8);
  cp_async_commit();
  cp_async_16(shared_b + lane % 16 * 8, b + lane % 16 * 8);
  cp_async_commit();
  cp_async_wait<0>();
  __syncwarp();
  uint32_t of_a[4], of_b[2];
  ldmatrix_x4(of_a, shared + (lane % 16) * 16 + lane / 16 * 8);
  ldmatrix_x2_transposed(of_b, shared_b + lane % 16 * 8);
  float sums[4];
  for (uint32_t i = 0; i < 4; ++i) sums[i] = c[(group + i / 2 * 8) * 8 + 2 * pair + i % 2];
  mma_m16n8k16<T>(sums, of_a, of_b);
  for (uint32_t i = 0; i < 4; ++i) d[(group + i / 2 * 8) * 8 + 2 * pair + i % 2] = sums[i];
}

TEMPLATE_TEST_CASE("a product of matrices", "", Half, Bfloat16) {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{5}));
  CAPTURE(seed);
  Random random(seed);
  std::vector<TestType> a(16 * 16), b(16 * 8);
  std::vector<float> c(16 * 8), d(c.size()), from_shared(c.size());
  for (TestType& value : a) value = rounded<TestType>(static_cast<float>(random.uniform(-2, 2)));
  for (TestType& value : b) value = rounded<TestType>(static_cast<float>(random.uniform(-2, 2)));
  for (float& value : c) value = static_cast<float>(random.uniform(-2, 2));
  launch({.kernel = "multiply", .grid = 1, .block = kWarp}, multiply<TestType>, a.data(), b.data(), c.data(),
         d.data());
  launch({.kernel = "multiply_from_shared", .grid = 1, .block = kWarp, .shared_bytes = 768},
         multiply_from_shared<TestType>, a.data(), b.data(), c.data(), from_shared.data());
  for (size_t row = 0; row < 16; ++row) {
    for (size_t column = 0; column < 8; ++column) {
      double expected = double(c[row * 8 + column]);
      for (size_t k = 0; k < 16; ++k)
        expected += double(to_float(a[row * 16 + k])) * double(to_float(b[k * 8 + column]));
      CHECK(std::abs(double(d[row * 8 + column]) - expected) < 1e-5);
      CHECK(std::abs(double(from_shared[row * 8 + column]) - expected) < 1e-5);
    }
  }
}

__global__ void load_all(const Half* from, uint32_t* out) {
  auto* shared = shared_memory<Half>();
  for (uint32_t i = threadIdx.x; i < 256; i += kWarp) shared[i] = from[i];
  __syncwarp();
  uint32_t plain[4], transposed[4], two[2];
  ldmatrix_x4(plain, shared + threadIdx.x * 8);
  ldmatrix_x4_transposed(transposed, shared + threadIdx.x * 8);
  ldmatrix_x2(two, shared + threadIdx.x % 16 * 8);
  for (uint32_t i = 0; i < 4; ++i) {
    out[i * kWarp + threadIdx.x] = plain[i];
    out[(4 + i) * kWarp + threadIdx.x] = transposed[i];
    if (i < 2) out[(8 + i) * kWarp + threadIdx.x] = two[i];
  }
}

TEST_CASE("matrices from shared memory, as they are and transposed") {
  std::vector<Half> from(256);
  for (uint16_t i = 0; i < 256; ++i) from[i] = {i};
  std::vector<uint32_t> out(10 * kWarp);
  launch({.kernel = "load_all", .grid = 1, .block = kWarp, .shared_bytes = 512}, load_all, from.data(),
         out.data());
  const auto value = [](uint32_t matrix, uint32_t row, uint32_t column) {
    return matrix * 64 + row * 8 + column;
  };
  for (uint32_t i = 0; i < 4; ++i) {
    for (uint32_t lane = 0; lane < kWarp; ++lane) {
      const uint32_t y = lane / 4, x = lane % 4 * 2;
      CHECK(out[i * kWarp + lane] == (value(i, y, x) | value(i, y, x + 1) << 16));
      CHECK(out[(4 + i) * kWarp + lane] == (value(i, x, y) | value(i, x + 1, y) << 16));
      if (i < 2) CHECK(out[(8 + i) * kWarp + lane] == (value(i, y, x) | value(i, y, x + 1) << 16));
    }
  }
}

__global__ void read_early(const float* from, float* out, int waits) {
  auto* shared = shared_memory<float>();
  cp_async_16(shared, from);
  cp_async_commit();
  cp_async_16(shared + 4, from + 4, false);
  cp_async_commit();
  if (waits > 0) cp_async_wait<1>();
  if (waits > 1) cp_async_wait<0>();
  for (int i = 0; i < 8; ++i) out[i] = shared[i];
}

TEST_CASE("what is copied to shared memory is there once it was waited for") {
  alignas(16) const float from[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  for (const int waits : {0, 1, 2}) {
    float out[8];
    launch({.kernel = "read_early", .grid = 1, .block = 1, .shared_bytes = 32}, read_early, +from, +out,
           waits);
    for (int i = 0; i < 4; ++i) {
      CHECK((waits >= 1 ? out[i] == from[i] : std::isnan(out[i])));
      CHECK((waits == 2 ? out[4 + i] == 0 : std::isnan(out[4 + i])));
    }
  }
}

TEST_CASE("16-bit values are those of the decoder's storage") {
  std::vector<float> values{0.0f,  -0.0f,  1.0f,  65504.0f, 65519.9f, 65520.0f,
                            1e-8f, -6e-8f, 3e38f, INFINITY, -INFINITY};
  Random random(1);
  for (int i = 0; i < 5000; ++i) {
    const auto bits = static_cast<uint32_t>(random.integer(0, 0xffffffff));
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    values.push_back(value);
  }
  const auto check = [&]<typename T>(T, Dtype dtype) {
    for (const float value : values) {
      uint16_t expected = 0;
      kernels::narrow(dtype, &value, &expected, 1);
      float back = 0;
      kernels::widen(dtype, &expected, &back, 1);
      const T own = rounded<T>(value);
      if (std::isnan(value)) {
        CHECK(std::isnan(to_float(own)));
        continue;
      }
      CHECK(own.bits == expected);
      CHECK(to_float(own) == back);
      const uint32_t pair = packed<T>(value, 1.0f);
      float first = 0, second = 0;
      unpacked<T>(pair, first, second);
      CHECK(first == back);
      CHECK(second == 1.0f);
    }
  };
  check(Half{}, Dtype::fp16);
  check(Bfloat16{}, Dtype::bf16);
}

}  // namespace
}  // namespace headroom::gpu
