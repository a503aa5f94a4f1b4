#include "decoder/graph/families/families.h"

#include "decoder/graph/families/autoencoder_dc.h"
#include "decoder/graph/families/autoencoder_kl.h"
#include "decoder/graph/families/autoencoder_kl_hunyuan_image.h"
#include "decoder/graph/families/autoencoder_kl_hunyuan_video.h"
#include "decoder/graph/families/autoencoder_kl_hunyuan_video_15.h"
#include "decoder/graph/families/autoencoder_kl_ltx_video.h"
#include "decoder/graph/families/autoencoder_kl_wan.h"
#include "decoder/graph/families/autoencoder_tiny.h"
#include "decoder/graph/families/causal_vae_model.h"

namespace headroom {

// A new family adds one line.
const std::map<std::string, Family>& families() {
  static const std::map<std::string, Family> table{
      {"AsymmetricAutoencoderKL", asymmetric_autoencoder_kl},
      {"AutoencoderDC", autoencoder_dc},
      {"AutoencoderKL", autoencoder_kl},
      {"AutoencoderKLFlux2", autoencoder_kl_flux2},
      {"AutoencoderKLHunyuanImage", autoencoder_kl_hunyuan_image},
      {"AutoencoderKLHunyuanVideo", autoencoder_kl_hunyuan_video},
      {"AutoencoderKLHunyuanVideo15", autoencoder_kl_hunyuan_video_15},
      {"AutoencoderKLLTX2Video", autoencoder_kl_ltx2_video},
      {"AutoencoderKLLTXVideo", autoencoder_kl_ltx_video},
      {"AutoencoderKLQwenImage", autoencoder_kl_qwen_image},
      {"AutoencoderKLQwenImage21", autoencoder_kl_qwen_image_21},
      {"AutoencoderKLWan", autoencoder_kl_wan},
      {"AutoencoderTiny", autoencoder_tiny},
      {"CausalVAEModel", causal_vae_model}};
  return table;
}

}  // namespace headroom
