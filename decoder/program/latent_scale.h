#pragma once

#include <functional>
#include <string>

#include "decoder/files/array.h"
#include "decoder/graph/model.h"
#include "decoder/weights/parameter_source.h"

namespace headroom {

/// Undoes the scaling with which pipelines hand latents on, as diffusers' pipelines do before vae.decode:
/// z * std / scaling_factor + mean per channel where the config or the weights have means and deviations,
/// otherwise z / scaling_factor + shift_factor. A latent in patches (FLUX.2) becomes one of the decoder's:
/// its batch norm is undone, by `weights`, and its patches are laid out. The latent is N×C×…. Throws
/// InputError where its channels are not those that pipelines hand on, or the config lacks a factor, a mean
/// or a deviation that this takes.
void undo_latent_scale(const Model& model, const std::function<ParameterSource()>& weights, Array& latent);

/// A latent as the decoder takes it.
struct GivenLatent {
  Array array;       ///< N×C×…
  std::string note;  ///< how it was taken, a line for people; empty where there is nothing to say
};

/// Reads a latent (decoder/files/latent_file.h) and takes it as `asked`, the words of --latent-scale: "none",
/// the decoder's own input; "model", as pipelines hand it on; "auto", what its numbers leave no doubt of; and
/// empty, where nobody said, as given. Throws InputError where "auto" finds doubt, and what
/// undo_latent_scale() and read_stored_latent() throw.
GivenLatent open_latent(const Model& model, const std::function<ParameterSource()>& weights,
                        const std::string& argument, const std::string& asked);

}  // namespace headroom
