#include "decoder/latents/evidence.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace headroom {
namespace {

struct ChannelSums {
  double sum = 0, squares = 0;
};

std::vector<ChannelSums> sums_of_channels(const Array& latent) {
  const auto channels = static_cast<size_t>(latent.shape[1]);
  const size_t plane = latent.values.size() / static_cast<size_t>(latent.shape[0]) / channels;
  std::vector<ChannelSums> sums(channels);
  for (size_t i = 0; i < latent.values.size(); ++i) {
    ChannelSums& of_channel = sums[i / plane % channels];
    const auto value = double(latent.values[i]);
    of_channel.sum += value;
    of_channel.squares += value * value;
  }
  return sums;
}

/// Factor by which the RMS differs from the expected 1; at least 1.
double off_by(double mean_square) {
  const double root = std::sqrt(mean_square);
  return std::max(root, 1 / root);
}

}  // namespace

bool LatentScaling::changes_nothing() const {
  return std::all_of(factor.begin(), factor.end(), [](double f) { return f == 1; }) &&
         std::all_of(offset.begin(), offset.end(), [](double o) { return o == 0; });
}

double LatentScaling::input_deviation() const {
  double squares = 0;
  for (const double f : factor) squares += f * f;
  return std::sqrt(squares / double(factor.size()));
}

LatentEvidence latent_evidence(const LatentScaling& scaling, const Array& latent) {
  constexpr double kFits = 2, kApart = 1.6;
  const std::vector<ChannelSums> sums = sums_of_channels(latent);
  const double of_channel = double(latent.values.size()) / double(sums.size());
  double sum = 0, squares = 0, unscaled = 0;
  for (size_t c = 0; c < sums.size(); ++c) {
    const double offset = scaling.offset[c], factor = scaling.factor[c];
    sum += sums[c].sum;
    squares += sums[c].squares;
    unscaled +=
        (sums[c].squares - 2 * offset * sums[c].sum + of_channel * offset * offset) / (factor * factor);
  }
  const auto values = double(latent.values.size());
  const double mean = sum / values;
  LatentEvidence evidence;
  evidence.standard_deviation = std::sqrt(std::max(0.0, squares / values - mean * mean));
  const double as_pipelines = off_by(squares / values), as_input = off_by(std::max(0.0, unscaled / values));
  if (as_pipelines <= kFits && as_input >= kApart * as_pipelines) evidence.kind = LatentKind::of_pipeline;
  if (as_input <= kFits && as_pipelines >= kApart * as_input) evidence.kind = LatentKind::decoder_input;
  evidence.pipeline_is_likelier = as_pipelines <= kFits && as_pipelines <= as_input;
  return evidence;
}

}  // namespace headroom
