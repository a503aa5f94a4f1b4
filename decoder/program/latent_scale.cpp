#include "decoder/program/latent_scale.h"

#include <cmath>

#include "decoder/graph/errors.h"

namespace headroom {
namespace {

void require_each_channel(const Model& model, const char* key, const std::vector<double>& values) {
  if (static_cast<int64_t>(values.size()) == model.latent_channels) return;
  throw InputError(
      model.config_file + ": " + key + ": --latent-scale model needs one value for each of the " +
      std::to_string(model.latent_channels) + " latent channels, found " + std::to_string(values.size()));
}

void require_channels(const Array& latent, int64_t channels) {
  if (latent.shape.size() < 2 || latent.shape[1] != channels)
    throw InputError("latent: expected " + std::to_string(channels) + " channels along its second axis");
}

std::vector<double> stored_values(const Model& model, const ParameterSource& weights, const char* name) {
  std::vector<float> values(static_cast<size_t>(model.latent_channels));
  weights({name, {model.latent_channels}}, {0, model.latent_channels}, values.data());
  return {values.begin(), values.end()};
}

/// z * sqrt(variance + epsilon) + mean of every channel.
void undo_batch_norm(const LatentPatches& patches, const ParameterSource& weights, Array& latent) {
  const int64_t channels = latent.shape[1];
  std::vector<float> mean(static_cast<size_t>(channels)), variance(mean);
  weights({"bn.running_mean", {channels}}, {0, channels}, mean.data());
  weights({"bn.running_var", {channels}}, {0, channels}, variance.data());
  const size_t plane = latent.values.size() / static_cast<size_t>(latent.shape[0] * channels);
  for (size_t i = 0; i < latent.values.size(); ++i) {
    const size_t c = i / plane % mean.size();
    if (!(variance[c] >= 0))
      throw InputError("bn.running_var: expected at least 0, found " + std::to_string(variance[c]));
    const double deviation = std::sqrt(double(variance[c]) + patches.epsilon);
    latent.values[i] = static_cast<float>(double(latent.values[i]) * deviation + double(mean[c]));
  }
}

/// N×(C·rows·columns)×H×W becomes N×C×(H·rows)×(W·columns).
Array laid_out(const LatentPatches& patches, const Array& latent) {
  const int64_t items = latent.shape[0], channels = latent.shape[1] / (patches.rows * patches.columns);
  const int64_t height = latent.shape[2], width = latent.shape[3];
  Array out{{items, channels, height * patches.rows, width * patches.columns}, {}};
  out.values.resize(latent.values.size());
  size_t from = 0;
  for (int64_t plane = 0; plane < items * channels; ++plane) {
    for (int64_t r = 0; r < patches.rows; ++r) {
      for (int64_t c = 0; c < patches.columns; ++c) {
        for (int64_t y = 0; y < height; ++y) {
          const int64_t row = plane * out.shape[2] + y * patches.rows + r;
          for (int64_t x = 0; x < width; ++x)
            out.values[static_cast<size_t>(row * out.shape[3] + x * patches.columns + c)] =
                latent.values[from++];
        }
      }
    }
  }
  return out;
}

}  // namespace

void undo_latent_scale(const Model& model, const std::function<ParameterSource()>& weights, Array& latent) {
  if (model.latent_patches) {
    const LatentPatches& patches = *model.latent_patches;
    require_channels(latent, model.latent_channels * patches.rows * patches.columns);
    if (latent.shape.size() != 4) throw InputError("latent: expected N×C×H×W");
    undo_batch_norm(patches, weights(), latent);
    latent = laid_out(patches, latent);
    return;
  }
  require_channels(latent, model.latent_channels);
  const auto channels = static_cast<size_t>(model.latent_channels);
  const size_t plane = latent.values.size() / static_cast<size_t>(latent.shape[0]) / channels;
  if (model.latent_scale_in_weights) {
    Model with_scale = model;
    with_scale.latent_scale_in_weights = false;
    const ParameterSource source = weights();
    with_scale.latents_mean = stored_values(model, source, "latents_mean");
    with_scale.latents_std = stored_values(model, source, "latents_std");
    return undo_latent_scale(with_scale, weights, latent);
  }
  const bool per_channel = !model.latents_mean.empty() && !model.latents_std.empty();
  if (per_channel) {
    require_each_channel(model, "latents_mean", model.latents_mean);
    require_each_channel(model, "latents_std", model.latents_std);
  }
  for (size_t i = 0; i < latent.values.size(); ++i) {
    const size_t c = i / plane % channels;
    const double factor = (per_channel ? model.latents_std[c] : 1.0) / model.scaling_factor;
    const double offset = per_channel ? model.latents_mean[c] : model.shift_factor;
    latent.values[i] = static_cast<float>(double(latent.values[i]) * factor + offset);
  }
}

}  // namespace headroom
