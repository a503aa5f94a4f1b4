#include "decoder/cpu/loops/storage.h"

#include <cstring>

#include "decoder/cpu/loops/loops.h"

namespace headroom::kernels {

void widen(Dtype stored, const void* from, float* to, int64_t count) {
  if (stored == Dtype::fp32) {
    if (count > 0) std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
    return;
  }
  const auto* bits = static_cast<const uint16_t*>(from);
  (stored == Dtype::bf16 ? loops().widen_bf16 : loops().widen_fp16)(bits, to, count);
}

void narrow(Dtype stored, const float* from, void* to, int64_t count) {
  if (stored == Dtype::fp32) {
    if (count > 0) std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
    return;
  }
  auto* bits = static_cast<uint16_t*>(to);
  (stored == Dtype::bf16 ? loops().narrow_bf16 : loops().narrow_fp16)(from, bits, count);
}

void round_to(Dtype stored, float* values, int64_t count) {
  if (stored == Dtype::fp32) return;
  constexpr int64_t kChunk = 4096;
  uint16_t bits[kChunk];
  for (int64_t i = 0; i < count; i += kChunk) {
    const int64_t length = count - i < kChunk ? count - i : kChunk;
    narrow(stored, values + i, bits, length);
    widen(stored, bits, values + i, length);
  }
}

}  // namespace headroom::kernels
