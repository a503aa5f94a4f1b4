#include "decoder/interpreter/pixels.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

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

void require_finite_latent(std::span<const float> values) {
  const auto bad = std::find_if(values.begin(), values.end(), [](float v) { return !std::isfinite(v); });
  if (bad == values.end()) return;
  throw InputError("latent: element " + std::to_string(bad - values.begin()) + " is not finite (" +
                   std::to_string(*bad) + ")");
}

void interleave_planes(const ArrayView& latent, int64_t first_item, int64_t channels, int64_t positions,
                       const std::vector<float*>& items) {
  if (latent.values == nullptr) throw std::logic_error("a latent of a GPU on the host");
  const float* from = latent.values + first_item * channels * positions;
  for (float* item : items) {
    for (int64_t c = 0; c < channels; ++c, from += positions) {
      for (int64_t i = 0; i < positions; ++i) item[i * channels + c] = from[i];
    }
  }
}

}  // namespace headroom
