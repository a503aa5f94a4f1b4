#pragma once

#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace headroom {

/// Maps tensor names of today's diffusers to the names that other checkpoints use:
/// - older diffusers: …attentions.0.query for …attentions.0.to_q;
/// - original Stable Diffusion and FLUX: mid.attn_1.q, up.3.block.1.norm1 for up_blocks.0.resnets.1.norm1,
///   and up.3.upsample.conv for up_blocks.0.upsamplers.0.conv;
/// - HunyuanVideo: the original has today's names; ComfyUI's have those of Stable Diffusion with the
///   convolutions' inner modules, up.3.upsample.conv.conv for up_blocks.0.upsamplers.0.conv.conv;
/// - original HunyuanImage: the same with resolutions from the coarsest, where diffusers numbers blocks and
///   upsamplings through: up.0.upsample.conv for up_blocks.3.conv;
/// - original Wan 2.1: middle.1.to_qkv, upsamples.1.residual.0, and upsamples.3.resample.1; of 2.2, whose
///   modules are numbered in each resolution, upsamples.0.upsamples.3.resample.1;
/// - original FLUX.2: Stable Diffusion's, and decoder.post_quant_conv for post_quant_conv;
/// - original HunyuanVideo 1.5: Stable Diffusion's with the convolutions' inner modules and levels from the
///   coarsest, up.0.block.1.conv1.conv for up_blocks.0.resnets.1.conv1.conv;
/// - original LTX: blocks and upsamplings are one sequence, up_blocks.1.conv.conv for
///   up_blocks.0.upsamplers.0.conv.conv and up_blocks.2.res_blocks.0 for up_blocks.0.resnets.0;
/// - original TAESD: a sequence with the clamp in front, 3.conv.0 for decoder.layers.2.conv.0.
///
/// Original names may have a prefix, such as "first_stage_model." or "vae.", which is detected. Sources:
/// diffusers' loaders/single_file_utils.py, and its scripts named
/// convert_{wan,hunyuan_image,hunyuan_video,hunyuan_video1_5,flux2,ltx,ltx2,tiny_autoencoder}_to_diffusers.py;
/// ComfyUI's diffusers_convert.py.
class TensorNames {
 public:
  TensorNames() = default;
  /// `stored`: all names of the checkpoint.
  explicit TensorNames(const std::vector<std::string>& stored);

  /// True if any name is a decoder's.
  bool has_decoder() const;

  /// The stored name of the tensor that diffusers calls `name`; nothing where there is none.
  std::optional<std::string> find(const std::string& name) const;

 private:
  enum class Layout { diffusers, stable_diffusion, coarsest_first, wan, wan_nested, ltx, tiny };

  void count_levels();
  void find_layout_of_encoder();
  void find_ltx_modules();
  void find_ltx_encoder_modules();

  std::unordered_set<std::string> stored_;
  Layout layout_ = Layout::diffusers;
  std::string prefix_;
  int levels_ = 0;  ///< resolution levels in Stable Diffusion's layout
  int blocks_ = 0;  ///< blocks of each level there
  /// For LTX: the start of a name in diffusers, and its start in the checkpoint.
  std::vector<std::pair<std::string, std::string>> modules_;
};

}  // namespace headroom
