#include "decoder/kernels/loops.h"

namespace headroom::kernels {

const Loops& loops() {
#if defined(__x86_64__)
  static const Loops& chosen = []() -> const Loops& {
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512cd");
    return avx512 ? avx512_loops : avx2 ? avx2_loops : baseline_loops;
  }();
  return chosen;
#else
  return baseline_loops;
#endif
}

}  // namespace headroom::kernels
