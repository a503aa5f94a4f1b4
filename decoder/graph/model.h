#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "decoder/graph/graph.h"

namespace headroom {

/// Latent layout of FLUX.2's pipelines. A patch of `rows` × `columns` latent positions becomes the channels
/// of one position. `bn.running_mean` and `bn.running_var` of the weights normalise each of these channels.
struct LatentPatches {
  int64_t rows = 1, columns = 1;
  std::optional<double> epsilon;  ///< added to the variance
};

/// A decode makes a picture or clip from a latent. An encode makes the parameters of the latent's
/// distribution (mean and log-variance), or the latent itself if its class has no distribution. Names in code
/// that serves both directions say "decode" for either.
enum class Direction { decode, encode };
inline constexpr std::array kDirections{Direction::decode, Direction::encode};
inline bool encodes(Direction direction) {
  return direction == Direction::encode;
}
const char* name_of(Direction direction);
Direction direction_of(const Graph& graph);
/// Throws InputError unless the text is decode or encode.
Direction parse_direction(const std::string& text);

/// An encoder that encodes parts of a clip independently. The last frame is repeated until the last part is
/// whole, and the last latent frames of the clip are dropped.
struct EncodedClips {
  int64_t part_frames = 1, dropped_latent_frames = 0;
};

/// A layer graph of a VAE, and the latent properties from its config.
struct Model {
  std::string name;         ///< built-in name, or name of the given folder
  std::string config_file;  ///< path for errors; a built-in model's name
  std::string class_name;   ///< its family's (decoder/families/families.h)
  Graph graph;              ///< the decoder, or the encoder after for_direction()
  /// Makes the encoder's graph. Null if Headroom only decodes with the class. Throws InputError if it does
  /// not support the config's encoder.
  std::function<Graph()> encoder{};
  /// Set for a class with which Headroom only encodes. `graph` is the encoder then.
  std::string why_no_decoder{};
  std::optional<EncodedClips> encoded_clips{};
  int64_t latent_channels = 0;
  bool decodes_clips = false;     ///< latents may have several frames
  int64_t latent_frame_step = 1;  ///< the latent frames after a clip's first one are a multiple of this
  /// How pipelines scale latents: decoder input = latent / scaling_factor + shift_factor. Unset if the config
  /// has null, or has no value and its class no default.
  std::optional<double> scaling_factor = 1;
  std::optional<double> shift_factor = 0;
  /// Per channel, instead of the shift: input = latent * std / scaling_factor + mean.
  bool scaled_by_channel = false;
  /// Length as in the config, which can differ from latent_channels.
  std::vector<double> latents_mean, latents_std;
  /// Pipelines undo the scaling before they output latents.
  bool handed_on_unscaled = false;
  /// latents_mean and latents_std are in the weights file, under these names.
  bool latent_scale_in_weights = false;
  /// Replaces all scaling fields above.
  std::optional<LatentPatches> latent_patches;
  /// fp16 overflows inside the decoder, so it decodes in fp32 instead.
  bool force_upcast = false;
};

/// Throws InputError if Headroom only encodes with this model, unless it comes from for_direction().
void require_decoder(const Model& model);
/// The model for this direction: `graph` becomes the encoder. Throws InputError if there is no encoder, or no
/// decoder.
Model for_direction(Model model, Direction direction);
/// The model for decodes or encodes of `frames` frames. A single frame needs no kernel taps for earlier
/// frames (Graph::of_one_frame()). A plan is valid only for the model of its request's frames.
/// Throws InputError for the decode of a model that has no decoder.
Model for_frames(Model model, int64_t frames);

/// The dtype in which a model decodes if the user requests `asked`. Returns fp32 instead of fp16 if the
/// config has force_upcast. bf16 has the range of fp32, so it stays.
Dtype decoding_dtype(const Model& model, Dtype asked);
/// A note for the user if decoding_dtype() differs from `asked`: "--dtype fp16: decodes in fp32, …".
/// Otherwise empty.
std::string upcast_note(const Model& model, Dtype asked);

/// Why no latent has this size, with the nearest valid sizes: "expected a width that is a multiple of 8, …".
/// Empty if one has.
std::string wrong_pixels(const Model& model, int64_t width_pixels, int64_t height_pixels);
/// Likewise for a number of frames.
std::string wrong_frames(const Model& model, int64_t frames);
/// The latent's extent for a picture or clip of this size. Throws InputError, which names the option, if no
/// latent has this size.
Extent latent_extent(const Model& model, int64_t width_pixels, int64_t height_pixels, int64_t frames);
/// Array shape of the graph's input for latents of this extent: N×C×H×W for one frame, N×C×T×H×W for several.
/// The input is the latent of a decode, and the picture or clip of an encode.
std::vector<int64_t> input_shape(const Model& model, const Extent& extent, int64_t batch);

}  // namespace headroom
