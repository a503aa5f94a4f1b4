#pragma once

#include <functional>

#include "decoder/files/array.h"
#include "decoder/graph/model.h"
#include "decoder/weights/parameter_source.h"

namespace headroom {

/// Undoes the scaling with which pipelines hand latents on, as diffusers' pipelines do before vae.decode:
/// z * std / scaling_factor + mean per channel where the config or the weights have means and deviations,
/// otherwise z / scaling_factor + shift_factor. A latent in patches (FLUX.2) becomes one of the decoder's:
/// its batch norm is undone, by `weights`, and its patches are laid out. The latent is N×C×…. Throws
/// InputError where its channels are not those that pipelines hand on, or the config has means or deviations
/// for another number of channels.
void undo_latent_scale(const Model& model, const std::function<ParameterSource()>& weights, Array& latent);

}  // namespace headroom
