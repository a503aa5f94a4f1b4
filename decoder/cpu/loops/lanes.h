#pragma once

#include <cstdint>

// Vectors of one register of floats, for the loops that are compiled once per instruction set. Only loops.cpp
// includes this file. Everything has internal linkage, because each instruction set compiles it to other
// code.
namespace headroom::kernels {
namespace {

#if defined(__AVX512F__)
constexpr int64_t kLanes = 16;
#elif defined(__AVX2__)
constexpr int64_t kLanes = 8;
#else
constexpr int64_t kLanes = 4;
#endif
typedef float Lanes __attribute__((vector_size(kLanes * 4)));
typedef float LanesInMemory __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));

// Not std::min: the linker would keep the instantiation of an arbitrary instruction set.
inline int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/// Returns `value` in every lane. Subtracting zero compiles to nothing. Adding zero would not, because it
/// turns -0 into 0.
inline Lanes spread(float value) {
  return value - Lanes{};
}

inline Lanes load(const float* from) {
  return *reinterpret_cast<const LanesInMemory*>(from);
}

inline void store(float* to, const Lanes& values) {
  *reinterpret_cast<LanesInMemory*>(to) = values;
}

/// The first `count` floats, zeros behind them.
inline Lanes load_part(const float* from, int64_t count) {
  if (count >= kLanes) return load(from);
  float values[kLanes] = {};
  for (int64_t i = 0; i < count; ++i) values[i] = from[i];
  return load(values);
}

inline void store_part(float* to, const Lanes& values, int64_t count) {
  if (count >= kLanes) return store(to, values);
  float all[kLanes];
  store(all, values);
  for (int64_t i = 0; i < count; ++i) to[i] = all[i];
}

}  // namespace
}  // namespace headroom::kernels
