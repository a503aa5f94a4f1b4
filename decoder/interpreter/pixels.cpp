#include "decoder/interpreter/pixels.h"

#include <algorithm>
#include <cmath>

#include "decoder/base/errors.h"

namespace headroom {

void stop_not_finite(const std::string& layer) {
  throw InputError(
      layer +
      ": its output is not finite; the decode was stopped: values of the latent or of the weights "
      "are too large for the dtype");
}

void require_finite(const float* values, int64_t count, const std::string& layer) {
  const bool finite = std::all_of(values, values + count, [](float v) { return std::isfinite(v); });
  if (!finite) stop_not_finite(layer);
}

void interleave_planes(const ArrayView& latent, int64_t first_item, int64_t channels, int64_t positions,
                       const std::vector<float*>& items) {
  const float* from = latent.values + first_item * channels * positions;
  for (float* item : items) {
    for (int64_t c = 0; c < channels; ++c, from += positions) {
      for (int64_t i = 0; i < positions; ++i) item[i * channels + c] = from[i];
    }
  }
}

}  // namespace headroom
