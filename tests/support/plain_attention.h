#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/support/held_view.h"

namespace headroom::test {

/// Reference in double: softmax(q kᵀ) v of one query, over the given frames.
inline std::vector<double> plain_attention(const std::vector<double>& query, HeldView& keys, HeldView& values,
                                           const gpu::Span& frames) {
  gpu::Box box = keys.view.region;
  box.t = frames;
  std::vector<double> scores;
  for_positions(box, [&](int32_t t, int32_t y, int32_t x) {
    double score = 0;
    for (size_t c = 0; c < query.size(); ++c)
      score += query[c] * keys.value(t, y, x, static_cast<int32_t>(c));
    scores.push_back(score);
  });
  const double largest = *std::max_element(scores.begin(), scores.end());
  std::vector<double> means(static_cast<size_t>(values.view.channels));
  double weights = 0;
  size_t i = 0;
  for_positions(box, [&](int32_t t, int32_t y, int32_t x) {
    const double weight = std::exp(scores[i++] - largest);
    weights += weight;
    for (size_t c = 0; c < means.size(); ++c)
      means[c] += weight * values.value(t, y, x, static_cast<int32_t>(c));
  });
  for (double& mean : means) mean /= weights;
  return means;
}

}  // namespace headroom::test
