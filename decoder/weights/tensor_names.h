#pragma once

#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

namespace headroom {

/// Under which names a checkpoint stores the tensors that today's diffusers calls otherwise:
///
///   today's diffusers                          older diffusers, original Stable Diffusion and FLUX, original
///   Wan decoder.mid_block.attentions.0.to_q        …attentions.0.query     …mid.attn_1.q …middle.1.to_qkv
///   decoder.up_blocks.0.resnets.1.norm1                                …up.3.block.1.norm1
///   …upsamples.1.residual.0 decoder.up_blocks.0.upsamplers.0.conv …up.3.upsample.conv
///   …upsamples.3.resample.1
///   decoder.up_blocks.0.upsampler.resample.1                           Wan 2.2
///   …upsamples.0.upsamples.3.resample.1
///
/// Original names may have a prefix, such as "first_stage_model." or "vae.", which is found out.
/// Sources: convert_ldm_vae_checkpoint() of diffusers' loaders/single_file_utils.py and its
/// scripts/convert_wan_to_diffusers.py.
class TensorNames {
 public:
  TensorNames() = default;
  /// `stored`: all names of the checkpoint.
  explicit TensorNames(const std::vector<std::string>& stored);

  /// The stored name of the tensor that diffusers calls `name`; nothing where there is none.
  std::optional<std::string> find(const std::string& name) const;

 private:
  enum class Layout { diffusers, stable_diffusion, wan, wan_nested };

  std::unordered_set<std::string> stored_;
  Layout layout_ = Layout::diffusers;
  std::string prefix_;
  int levels_ = 0;  ///< of resolution, in Stable Diffusion's layout
};

}  // namespace headroom
