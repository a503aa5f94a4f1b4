#pragma once

#include <cstdint>

// As many floats side by side as one register holds, for the loops that are compiled once per instruction
// set. Included by loops.cpp alone; everything has internal linkage, since the same source becomes different
// code there.
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

// Not std::min: of a template that several instruction sets instantiate, the linker keeps any one.
inline int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/// The value in every lane. Less zero is nothing to compute; plus zero would be, since it turns -0 into 0.
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
