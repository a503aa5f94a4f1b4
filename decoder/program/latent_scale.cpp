#include "decoder/program/latent_scale.h"

#include "decoder/graph/errors.h"

namespace headroom {

void undo_latent_scale(const Model& model, Array& latent) {
  const auto channels = static_cast<size_t>(model.latent_channels);
  if (latent.shape.size() < 2 || latent.shape[1] != model.latent_channels) {
    throw InputError("latent: expected " + std::to_string(channels) + " channels along its second axis");
  }
  const size_t plane = latent.values.size() / static_cast<size_t>(latent.shape[0]) / channels;
  const bool per_channel = !model.latents_mean.empty() && !model.latents_std.empty();
  for (size_t i = 0; i < latent.values.size(); ++i) {
    const size_t c = i / plane % channels;
    const double factor = (per_channel ? model.latents_std[c] : 1.0) / model.scaling_factor;
    const double offset = per_channel ? model.latents_mean[c] : model.shift_factor;
    latent.values[i] = static_cast<float>(double(latent.values[i]) * factor + offset);
  }
}

}  // namespace headroom
