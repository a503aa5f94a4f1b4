#pragma once

#include <string>
#include <vector>

#include "decoder/families/family.h"

namespace headroom {

/// All records, by class name.
const std::vector<Family>& families();
/// The record of the family with this class. An unsupported class gets an empty record without `build`.
const Family& family_of(const std::string& class_name);

// The records of each file in this folder.
std::vector<Family> autoencoder_dc_families();
std::vector<Family> autoencoder_kl_families();
std::vector<Family> cogvideox_families();
std::vector<Family> hunyuan_image_families();
std::vector<Family> hunyuan_video_families();
std::vector<Family> hunyuan_video_15_families();
std::vector<Family> ltx_video_families();
std::vector<Family> minimax_h3_families();
std::vector<Family> temporal_decoder_families();
std::vector<Family> wan_families();
std::vector<Family> autoencoder_tiny_families();
std::vector<Family> causal_vae_families();
std::vector<Family> video_autoencoder_kl_families();

}  // namespace headroom
