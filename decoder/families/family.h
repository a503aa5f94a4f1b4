#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/base/json_fields.h"
#include "decoder/families/tensor_names.h"
#include "decoder/graph/model.h"

namespace headroom {

/// A published model.
struct BuiltIn {
  std::string_view name;
  std::string config;  ///< JSON, cut to the keys that the decoder depends on
  /// Tensor names with this prefix identify a pipeline's checkpoint of this model, for example
  /// "conditioner.embedders." for SDXL. Names in the decoder cannot: SD 1.5 and SDXL share the decoder.
  std::string_view pipeline_module{};
  std::vector<std::string_view> also{};  ///< names of other models that have this decoder
};

inline constexpr const char* kUnpackPixels =
    "pipe._unpack_latents(latents, height, width, pipe.vae_scale_factor)";

/// How pipelines pack latents for their transformers.
struct LatentPacking {
  const char* pipelines = "";          ///< name followed by a space, for errors; may be empty
  int64_t channels = 0;                ///< the name applies to latents with this many channels; 0: to all
  const char* unpack = kUnpackPixels;  ///< the call that unpacks
};

/// Networks for which profiler/eager predicts the memory that diffusers' own code takes.
enum class EagerNetwork { none, kl, dc, wan };

/// The record of a family. A family is one class of VAE. Classes with the same network share a file. The
/// record holds everything specific to the class except a model's config. Only the files of this folder
/// define records. No other file of the product names a class.
struct Family {
  std::string_view class_name{};
  std::string_view source_file{};  ///< the class's Python file; stacks of recorded decodes name it
  bool in_diffusers = true;        ///< otherwise the model's authors publish the code
  bool frame_by_frame = false;     ///< diffusers decodes clips one latent frame after another
  /// The class's decode takes the frames of clips as a batch, N·T×C×H×W, and their number.
  bool frames_in_batch = false;
  EagerNetwork eager_network = EagerNetwork::none;
  bool takes_scaled_latents = false;  ///< decodes latents that pipelines scaled for a larger VAE
  LatentPacking packing{};
  OriginalNames original_names{};  ///< without a key for classes whose configs do not follow from shapes
  std::vector<BuiltIn> built_ins{};
  /// Makes a model, without its class name and encoder. Throws InputError naming a key whose value is not
  /// supported.
  Model (*build)(const JsonFields& config) = nullptr;
  /// Makes the encoder. Null for classes that Headroom only decodes. Throws like `build`.
  Graph (*encoder)(const JsonFields& config) = nullptr;
};

}  // namespace headroom
