#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "decoder/graph/graph.h"

namespace headroom {

/// How FLUX.2's pipelines hold a latent: `rows` times `columns` of its positions are channels of one, and
/// each of these channels is normalised by `bn.running_mean` and `bn.running_var` of the weights.
struct LatentPatches {
  int64_t rows = 1, columns = 1;
  std::optional<double> epsilon;  ///< that is added to the variance
};

/// A decoder's layer graph with what its config says about its latents.
struct Model {
  std::string name;         ///< built-in name, or the folder's that was given
  std::string config_file;  ///< as errors name it; a built-in model's name
  std::string class_name;   ///< its family's (decoder/graph/families/families.h)
  Graph graph;
  int64_t latent_channels = 0;
  bool decodes_clips = false;  ///< latents may have several frames
  /// How pipelines scale latents: decoder input = latent / scaling_factor + shift_factor. Unset where the
  /// config has null, or its class has no default.
  std::optional<double> scaling_factor = 1;
  std::optional<double> shift_factor = 0;
  /// Per channel, instead of the shift: input = latent * std / scaling_factor + mean.
  bool scaled_by_channel = false;
  /// As many as the config has, which need not be latent_channels.
  std::vector<double> latents_mean, latents_std;
  /// Pipelines undo the scaling of the latents that they hand on.
  bool handed_on_unscaled = false;
  /// These two lie with the weights, under the names that they have here.
  bool latent_scale_in_weights = false;
  /// Instead of all of these.
  std::optional<LatentPatches> latent_patches;
  /// fp16 overflows somewhere inside; such models decode in fp32.
  bool force_upcast = false;
};

/// A model from diffusers' config.json. Throws InputError naming the file and the key where a value is not
/// supported, missing or of the wrong type.
Model load_model(const std::filesystem::path& config_file);

/// The text of a config, for tests and built-in models. `origin` names it in errors.
Model parse_model(const std::string& config_text, const std::string& origin);

/// The model for decodes of so many frames of the picture: for one, a family of clips has kernels without
/// what lies before the first frame (Graph::of_one_frame()). A plan is for the model of its request's frames.
Model for_frames(Model model, int64_t frames);

/// Class names of the decoders that are supported.
std::vector<std::string> supported_classes();

/// Folder of the VAE: `folder` itself, or its vae/ if `folder` is a pipeline. A pipeline has
/// model_index.json, or a config.json in vae/ but none of its own.
std::filesystem::path model_folder(const std::filesystem::path& folder);

/// `argument` is a folder that holds config.json, or a pipeline's folder, or a built-in name in any case.
/// Throws InputError listing the built-in names where it is neither.
Model resolve_model(const std::string& argument);

/// The dtype in which a model decodes where `asked` is asked for: fp32 instead of fp16 where its config has
/// force_upcast. bf16 has fp32's range and needs none.
Dtype decoding_dtype(const Model& model, Dtype asked);
/// A line for people where that is another one: "--dtype fp16: decodes in fp32, …". Otherwise empty.
std::string upcast_note(const Model& model, Dtype asked);

/// The latent's extent for a picture of this many pixels, or a clip of so many frames.
/// Throws InputError where the size is not a multiple of the decoder's scale, or no latent has so many
/// frames: it names the nearest numbers that would do.
Extent latent_extent(const Model& model, int64_t width_pixels, int64_t height_pixels, int64_t frames);
/// The shape in which latents of this extent come: N×C×H×W, with several frames N×C×T×H×W.
std::vector<int64_t> latent_shape(const Model& model, const Extent& extent, int64_t batch);

}  // namespace headroom
