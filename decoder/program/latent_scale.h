#pragma once

#include "decoder/files/array.h"
#include "decoder/graph/model.h"

namespace headroom {

/// Undoes the scaling with which pipelines hand latents on, as diffusers' pipelines do before vae.decode:
/// z * std / scaling_factor + mean per channel where the config has means and deviations, otherwise
/// z / scaling_factor + shift_factor. The latent is N×C×…. Throws InputError where its channels are not the
/// model's, or the config has means or deviations for another number of channels.
void undo_latent_scale(const Model& model, Array& latent);

}  // namespace headroom
