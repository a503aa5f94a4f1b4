#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "decoder/files/array.h"

namespace headroom {

/// File suffixes of latents that can be written, each with its dot.
std::vector<std::string> latent_output_suffixes();

/// Throws InputError unless write_latent() can write a file with this suffix.
void check_latent_output(const std::filesystem::path& file);

/// Writes a latent whole or not at all, as fp32: .npy, .safetensors with the tensor "latent", or ComfyUI's
/// .latent (ComfyUI's node SaveLatent, nodes.py). Throws InputError for another suffix, and DeviceError if
/// writing fails.
void write_latent(const std::filesystem::path& file, const Array& latent);

}  // namespace headroom
