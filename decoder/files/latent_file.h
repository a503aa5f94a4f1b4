#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "decoder/files/array.h"
#include "decoder/graph/model.h"

namespace headroom {

/// A latent as stored in its file.
struct StoredLatent {
  Array array;                ///< 3 to 5 axes
  bool from_comfyui = false;  ///< ComfyUI stores the input of its VAE nodes, not a pipeline's latent
};

/// Reads a latent, C×H×W, C×T×H×W, N×C×H×W or N×C×T×H×W, as fp32. `argument` is one of
///   name.npy               '<f2', '<f4' or '<f8', C order
///   name.safetensors       its only tensor; F32, F16 or BF16
///   name.safetensors:key   the tensor `key`
///   name.pt, name.pth      of torch.save(): its only tensor (decoder/files/torch_file.h)
///   name.pt:key            the tensor of this key or index
///   name.latent            ComfyUI's: the tensor "latent_tensor", in a .safetensors file too
///   name.latent:key        the tensor `key`
/// The header's claimed size is checked against the file's size before anything is allocated. Throws
/// InputError, one line naming the file and what was expected. Causes are a missing or truncated file,
/// another suffix, dtype or rank, several tensors and no key, an extent of 0, more than 2^30 elements, or a
/// value that is not finite in fp32.
StoredLatent read_stored_latent(const std::string& argument);
/// Checks the rank, the extents and the number of elements, as for a latent. Returns that number. Throws
/// InputError, which begins with `where`.
int64_t require_latent_shape(const std::vector<int64_t>& shape, const std::string& where);
/// Throws InputError naming the first element that is NaN or infinite.
void require_finite(const Array& latent, const std::string& where);
/// Path part of a latent argument, without the key.
std::string latent_file_of(const std::string& argument);
/// Like read_stored_latent(), but returns only the array.
Array read_latent(const std::string& argument);

/// Adds a batch axis in front if the latent has none. C×H×W always lacks one. For a decoder of clips, a
/// 4-axis latent lacks one if axis 0 has a valid channel count and axis 1 does not.
Array with_batch_axis(const Model& model, Array latent);

/// Channel count of a latent as pipelines of this model output it. Patches of FLUX.2 multiply it.
int64_t pipeline_channels(const Model& model);

/// File suffixes of latents that can be written, each with its dot.
std::vector<std::string> latent_output_suffixes();

/// Throws InputError unless write_latent() can write a file with this suffix.
void check_latent_output(const std::filesystem::path& file);

/// Writes a latent whole or not at all, as fp32: .npy, .safetensors with the tensor "latent", or ComfyUI's
/// .latent (ComfyUI's node SaveLatent, nodes.py). Throws InputError for another suffix, and DeviceError if
/// writing fails.
void write_latent(const std::filesystem::path& file, const Array& latent);

/// Returns a message if `shape` is a packed latent of this model, otherwise an empty text. Pipelines of
/// transformers pack latents as N×(positions)×(channels of a patch). Example: "shape (1, 4096, 64) is a
/// packed FLUX latent. Unpack it first: …".
std::string packed_latent(const Model& model, const std::vector<int64_t>& shape);

/// Built-in models whose latents, or those of their pipelines, have so many channels: "sd15, sdxl".
std::string models_with_channels(int64_t channels);

/// Throws InputError if `shape` is a packed latent, or if its channels do not fit this model. The message
/// names the built-in models with that channel count. Height and width are not checked. `shape` includes the
/// batch axis of with_batch_axis().
void require_latent_of(const Model& model, const std::vector<int64_t>& shape);

}  // namespace headroom
