#include "decoder/cpu/loops/channel_sums.h"

#include <algorithm>

#include "decoder/cpu/loops/loops.h"

namespace headroom::kernels {

void channel_sums(const float* x, int64_t pixels, int64_t channels, double* sum, double* square_sum) {
  constexpr int64_t kLanes = 16;
  constexpr int64_t kRunPixels = 8;  // of one run: they stay in the first-level cache
  const int64_t whole = channels / kLanes * kLanes;
  for (int64_t begin = 0; begin < pixels; begin += kRunPixels) {
    const int64_t run = std::min(kRunPixels, pixels - begin);
    const float* start = x + begin * channels;
    for (int64_t c = 0; c < whole; c += kLanes)
      loops().sum_16(start + c, run, channels, sum + c, square_sum + c);
    for (int64_t p = 0; p < run && whole < channels; ++p) {
      for (int64_t c = whole; c < channels; ++c) {
        const double v = start[p * channels + c];
        sum[c] += v;
        square_sum[c] += v * v;
      }
    }
  }
}

}  // namespace headroom::kernels
