#include "decoder/program/latent_scale.h"

#include "decoder/graph/errors.h"

namespace headroom {
namespace {

void require_each_channel(const Model& model, const char* key, const std::vector<double>& values) {
  if (static_cast<int64_t>(values.size()) == model.latent_channels) return;
  throw InputError(
      model.config_file + ": " + key + ": --latent-scale model needs one value for each of the " +
      std::to_string(model.latent_channels) + " latent channels, found " + std::to_string(values.size()));
}

}  // namespace

void undo_latent_scale(const Model& model, Array& latent) {
  const auto channels = static_cast<size_t>(model.latent_channels);
  if (latent.shape.size() < 2 || latent.shape[1] != model.latent_channels) {
    throw InputError("latent: expected " + std::to_string(channels) + " channels along its second axis");
  }
  const size_t plane = latent.values.size() / static_cast<size_t>(latent.shape[0]) / channels;
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
