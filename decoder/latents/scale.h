#pragma once

#include <functional>
#include <string>

#include "decoder/files/array.h"
#include "decoder/graph/model.h"
#include "decoder/weights/parameter_source.h"

namespace headroom {

/// Undoes the pipelines' scaling of a latent, as diffusers does before vae.decode. With means and deviations
/// in the config or the weights: z * std / scaling_factor + mean per channel. Otherwise: z / scaling_factor
/// + shift_factor. For a latent in patches (FLUX.2), it undoes the batch norm, whose statistics are in
/// `weights`, and unpacks the patches. The latent is N×C×…. Throws InputError if the channel count is not
/// the pipeline's, or if the config lacks a needed factor, mean or deviation.
void undo_latent_scale(const Model& model, const std::function<ParameterSource()>& weights, Array& latent);

/// The inverse of undo_latent_scale(): gives an encoder's latent the scale of pipelines.
void apply_latent_scale(const Model& model, const std::function<ParameterSource()>& weights, Array& latent);

/// A decision by --latent-scale about a latent.
struct AskedScale {
  bool undo = false;  ///< undo_latent_scale() gives the decoder's input
  std::string note;   ///< one line on how it was interpreted; may be empty
};

/// `asked` is the value of --latent-scale. "none": the latent already is the decoder's input. "model": undo
/// the pipelines' scaling. "auto": decide by the values, and take a latent that fits both as the model's
/// pipelines output it. Throws like undo_latent_scale(). Not for latents in patches.
AskedScale asked_scale(const Model& model, const std::function<ParameterSource()>& weights,
                       const std::string& asked, const Array& latent);

/// A latent in the decoder's scale.
struct GivenLatent {
  Array array;       ///< N×C×…
  std::string note;  ///< one line on how it was interpreted; may be empty
};

/// Reads a latent (decoder/files/latent_file.h) and converts it to the decoder's input, as asked_scale()
/// says. Throws like undo_latent_scale() and read_stored_latent().
GivenLatent open_latent(const Model& model, const std::function<ParameterSource()>& weights,
                        const std::string& argument, const std::string& asked);

}  // namespace headroom
