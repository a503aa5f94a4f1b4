#pragma once

#include <string>

#include "decoder/files/array.h"
#include "decoder/graph/model.h"

namespace headroom {

/// A latent as its file has it.
struct StoredLatent {
  Array array;                ///< of 3 to 5 axes
  bool from_comfyui = false;  ///< ComfyUI stores latents as its VAE nodes take them, not as pipelines do
};

/// Reads a latent, C×H×W, C×T×H×W, N×C×H×W or N×C×T×H×W, as fp32. `argument` is one of
///   name.npy               '<f2', '<f4' or '<f8', C order
///   name.safetensors       its only tensor; F32, F16 or BF16
///   name.safetensors:key   the tensor `key`
///   name.pt, name.pth      of torch.save(): its only tensor (decoder/files/torch_file.h)
///   name.pt:key            the tensor of this key or index
///   name.latent            ComfyUI's: the tensor "latent_tensor", in a .safetensors file too
///   name.latent:key        the tensor `key`
/// Nothing is allocated before the file's own size has been held against what its header promises.
/// Throws InputError, one line naming the file and what was expected: a missing or truncated file, another
/// suffix, dtype or rank, several tensors of which none is named, an extent of 0, more than 2^30 elements, a
/// value that is not finite in fp32.
StoredLatent read_stored_latent(const std::string& argument);
/// The file that such an argument names, without a key.
std::string latent_file_of(const std::string& argument);
/// Its array alone.
Array read_latent(const std::string& argument);

/// A latent with the axis of a batch in front, where it has none: C×H×W, and of a decoder of clips C×T×H×W
/// too, where its first axis has the decoder's channels and its second has not.
Array with_batch_axis(const Model& model, Array latent);

/// So many channels has a latent as pipelines of this model hand it on.
int64_t pipeline_channels(const Model& model);

}  // namespace headroom
