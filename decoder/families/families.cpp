#include "decoder/families/families.h"

#include <algorithm>

namespace headroom {

const std::vector<Family>& families() {
  static const std::vector<Family> all = [] {
    std::vector<Family> records;
    for (auto of_file : {autoencoder_dc_families, autoencoder_kl_families, cogvideox_families,
                         hunyuan_image_families, hunyuan_video_families, hunyuan_video_15_families,
                         ltx_video_families, minimax_h3_families, temporal_decoder_families, wan_families,
                         autoencoder_tiny_families, causal_vae_families, video_autoencoder_kl_families}) {
      for (Family& family : of_file()) records.push_back(std::move(family));
    }
    std::sort(records.begin(), records.end(),
              [](const Family& a, const Family& b) { return a.class_name < b.class_name; });
    return records;
  }();
  return all;
}

const Family& family_of(const std::string& class_name) {
  static const Family none;
  for (const Family& family : families())
    if (family.class_name == class_name) return family;
  return none;
}

}  // namespace headroom
