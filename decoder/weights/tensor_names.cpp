#include "decoder/weights/tensor_names.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <string_view>
#include <utility>

namespace headroom {
namespace {

using Renamed = std::pair<std::string_view, std::string_view>;

/// diffusers' names before its attention blocks were unified; group_norm kept its name.
std::string older_diffusers_name(const std::string& name) {
  static constexpr std::array<Renamed, 4> kRenamed = {
      {{".to_q.", ".query."}, {".to_k.", ".key."}, {".to_v.", ".value."}, {".to_out.0.", ".proj_attn."}}};
  for (const auto& [now, before] : kRenamed) {
    const size_t at = name.rfind(now);
    if (at == std::string::npos || name.find(".attentions.") > at) continue;
    return std::string(name).replace(at, now.size(), before);
  }
  return name;
}

bool take(std::string_view& text, std::string_view start) {
  if (!text.starts_with(start)) return false;
  text.remove_prefix(start.size());
  return true;
}

/// Takes "12." off the front.
std::optional<int> take_number(std::string_view& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0 || end == text.data() + text.size() || *end != '.') return {};
  text.remove_prefix(static_cast<size_t>(end - text.data()) + 1);
  return number;
}

/// Returns `text` with its start replaced by the first entry of `renamed` that matches.
std::string with_renamed_start(std::string_view text, const std::vector<Renamed>& renamed) {
  for (const auto& [now, before] : renamed) {
    if (text.starts_with(now)) return std::string(before) + std::string(text.substr(now.size()));
  }
  return std::string(text);
}

std::string with_renamed_part(std::string text, std::string_view now, std::string_view before) {
  const size_t at = text.find(now);
  return at == std::string::npos ? text : text.replace(at, now.size(), before);
}

std::string ltx_name(const std::string& name,
                     const std::vector<std::pair<std::string, std::string>>& modules) {
  return with_renamed_start(name, {modules.begin(), modules.end()});
}

/// HunyuanImage's: `number` counts blocks and upsamplings of all levels, which are in the order of decoding.
std::string hunyuan_image_name(int number, std::string_view rest, int blocks) {
  const int level = number / (blocks + 1), module = number % (blocks + 1);
  const std::string up = "decoder.up." + std::to_string(level) + ".";
  return up + (module == blocks ? "upsample." : "block." + std::to_string(module) + ".") + std::string(rest);
}

/// Numbering of the resolution levels.
struct Levels {
  int count = 0, blocks = 0;
  bool coarsest_first = false;
};

std::string stable_diffusion_name(const std::string& name, const Levels& levels) {
  std::string_view rest = name;
  const std::string side = name.substr(0, name.find('.') + 1);  // "decoder." or "encoder."
  if (take(rest, side + "mid_block.resnets.")) {
    if (const auto block = take_number(rest))
      return side + "mid.block_" + std::to_string(*block + 1) + "." + std::string(rest);
  } else if (take(rest, side + "mid_block.attentions.0.")) {
    return side + "mid.attn_1." +
           with_renamed_start(rest, {{"group_norm.", "norm."},
                                     {"to_q.", "q."},
                                     {"to_k.", "k."},
                                     {"to_v.", "v."},
                                     {"to_out.0.", "proj_out."},
                                     {"proj.", "proj_out."}});
  } else if (take(rest, "encoder.down_blocks.")) {
    const auto level = take_number(rest);
    if (!level) return name;
    const std::string down = "encoder.down." + std::to_string(*level) + ".";
    if (take(rest, "downsamplers.0.")) return down + "downsample." + std::string(rest);
    if (!take(rest, "resnets.")) return name;
    if (const auto block = take_number(rest))
      return down + "block." + std::to_string(*block) + "." +
             with_renamed_start(rest, {{"conv_shortcut.", "nin_shortcut."}});
  } else if (take(rest, "decoder.up_blocks.")) {
    const auto level = take_number(rest);
    if (!level) return name;
    const int number = levels.coarsest_first ? *level : levels.count - 1 - *level;
    const std::string up = "decoder.up." + std::to_string(number) + ".";
    if (take(rest, "upsamplers.0.")) return up + "upsample." + std::string(rest);
    if (!take(rest, "resnets.")) return hunyuan_image_name(*level, rest, levels.blocks);
    if (const auto block = take_number(rest))
      return up + "block." + std::to_string(*block) + "." +
             with_renamed_start(rest, {{"conv_shortcut.", "nin_shortcut."}});
  }
  return with_renamed_start(name, {{"decoder.conv_norm_out.", "decoder.norm_out."},
                                   {"encoder.conv_norm_out.", "encoder.norm_out."}});
}

/// Wan numbers the modules of a residual block. It also numbers its blocks and upsamplers: through all
/// resolutions or, if `nested` as in Wan 2.2, within each.
std::string wan_name(const std::string& name, bool nested) {
  constexpr int kModulesOfLevel = 4;  // three residual blocks and an upsampler
  const std::vector<Renamed> residual = {{"norm1.", "residual.0."},
                                         {"conv1.", "residual.2."},
                                         {"norm2.", "residual.3."},
                                         {"conv2.", "residual.6."},
                                         {"conv_shortcut.", "shortcut."}};
  std::string_view rest = name;
  const std::string side = name.substr(0, name.find('.') + 1);  // "decoder." or "encoder."
  if (take(rest, side + "mid_block.resnets.")) {
    if (const auto block = take_number(rest))
      return side + "middle." + std::to_string(*block * 2) + "." + with_renamed_start(rest, residual);
  } else if (take(rest, side + "mid_block.attentions.0.")) {
    return side + "middle.1." + std::string(rest);
  } else if (take(rest, "encoder.down_blocks.")) {
    constexpr int kBlocksOfLevel = 2;
    const auto level = take_number(rest);
    if (!level) return name;
    const std::string down = "encoder.downsamples." + std::to_string(*level) + ".";
    if (!nested) return down + with_renamed_start(rest, residual);
    if (take(rest, "downsampler."))
      return down + "downsamples." + std::to_string(kBlocksOfLevel) + "." + std::string(rest);
    if (!take(rest, "resnets.")) return name;
    if (const auto block = take_number(rest))
      return down + "downsamples." + std::to_string(*block) + "." + with_renamed_start(rest, residual);
  } else if (take(rest, "decoder.up_blocks.")) {
    const auto level = take_number(rest);
    if (!level) return name;
    const auto module = [&](int number) {
      if (nested)
        return "decoder.upsamples." + std::to_string(*level) + ".upsamples." + std::to_string(number) + ".";
      return "decoder.upsamples." + std::to_string(*level * kModulesOfLevel + number) + ".";
    };
    if (take(rest, nested ? "upsampler." : "upsamplers.0."))
      return module(kModulesOfLevel - 1) + std::string(rest);
    if (!take(rest, "resnets.")) return name;
    if (const auto block = take_number(rest)) return module(*block) + with_renamed_start(rest, residual);
  }
  return with_renamed_start(name, {{"decoder.conv_in.", "decoder.conv1."},
                                   {"decoder.norm_out.", "decoder.head.0."},
                                   {"decoder.conv_out.", "decoder.head.2."},
                                   {"post_quant_conv.", "conv2."},
                                   {"encoder.conv_in.", "encoder.conv1."},
                                   {"encoder.norm_out.", "encoder.head.0."},
                                   {"encoder.conv_out.", "encoder.head.2."},
                                   {"quant_conv.", "conv1."}});
}

/// TAESD's modules are a sequence that begins with the clamp.
std::string tiny_name(const std::string& name) {
  std::string_view rest = name;
  if (!take(rest, "decoder.layers.")) return name;
  const auto layer = take_number(rest);
  return layer ? std::to_string(*layer + 1) + "." + std::string(rest) : name;
}

/// The alphabetically first prefix of a name that ends in `suffix`: empty, or ending in a dot. If `beside` is
/// given, the prefix followed by `beside` must be a name, too.
std::optional<std::string> prefix_of(const std::vector<std::string>& names, const std::string& suffix,
                                     const std::string& beside = {}) {
  std::optional<std::string> first;
  for (const std::string& name : names) {
    if (!name.ends_with(suffix)) continue;
    std::string prefix = name.substr(0, name.size() - suffix.size());
    if (!prefix.empty() && !prefix.ends_with('.')) continue;
    if (!beside.empty() && std::find(names.begin(), names.end(), prefix + beside) == names.end()) continue;
    if (!first || prefix < *first) first = std::move(prefix);
  }
  return first;
}

}  // namespace

TensorNames::TensorNames(const std::vector<std::string>& stored) : stored_(stored.begin(), stored.end()) {
  // Check LTX first: LTX-2's whole checkpoint also has an audio decoder, under other names.
  if (const auto ltx = prefix_of(stored, "decoder.up_blocks.0.res_blocks.0.conv1.conv.weight")) {
    layout_ = Layout::ltx;
    prefix_ = *ltx;
    find_ltx_modules();
  } else if (const auto finest = prefix_of(stored, "decoder.mid.block_1.norm1.weight")) {
    layout_ = Layout::stable_diffusion;
    prefix_ = *finest;
    count_levels();
  } else if (const auto coarsest = prefix_of(stored, "decoder.mid.block_1.norm1.gamma")) {
    layout_ = Layout::coarsest_first;
    prefix_ = *coarsest;
    count_levels();
  } else if (const auto wan = prefix_of(stored, "decoder.middle.0.residual.0.gamma")) {
    prefix_ = *wan;
    const bool nested = stored_.contains(prefix_ + "decoder.upsamples.0.upsamples.0.residual.0.gamma");
    layout_ = nested ? Layout::wan_nested : Layout::wan;
  } else if (const auto nested = prefix_of(stored, "decoder.conv_in.weight")) {
    prefix_ = *nested;
  } else if (const auto causal = prefix_of(stored, "decoder.conv_in.conv.weight")) {
    prefix_ = *causal;  // HunyuanVideo nests its convolutions in modules
  } else if (const auto layers = prefix_of(stored, "decoder.layers.0.weight")) {
    prefix_ = *layers;
  } else if (const auto tiny = prefix_of(stored, "3.conv.0.weight", "1.weight")) {
    layout_ = Layout::tiny;  // its encoder has no 1.weight
    prefix_ = *tiny;
  } else {
    find_layout_of_encoder();
  }
}

/// An encode may get the encoder's tensors alone.
void TensorNames::find_layout_of_encoder() {
  const std::vector<std::string> stored(stored_.begin(), stored_.end());
  if (const auto ltx = prefix_of(stored, "encoder.down_blocks.0.res_blocks.0.conv1.conv.weight")) {
    layout_ = Layout::ltx;
    prefix_ = *ltx;
    find_ltx_modules();
  } else if (const auto finest = prefix_of(stored, "encoder.mid.block_1.norm1.weight")) {
    layout_ = Layout::stable_diffusion;
    prefix_ = *finest;
  } else if (const auto coarsest = prefix_of(stored, "encoder.mid.block_1.norm1.gamma")) {
    layout_ = Layout::coarsest_first;
    prefix_ = *coarsest;
  } else if (const auto wan = prefix_of(stored, "encoder.middle.0.residual.0.gamma")) {
    prefix_ = *wan;
    const bool nested = stored_.contains(prefix_ + "encoder.downsamples.0.downsamples.0.residual.0.gamma");
    layout_ = nested ? Layout::wan_nested : Layout::wan;
  }
}

void TensorNames::count_levels() {
  for (const std::string& name : stored_) {
    std::string_view rest = name;
    if (!take(rest, prefix_) || !take(rest, "decoder.up.")) continue;
    const auto level = take_number(rest);
    if (!level) continue;
    levels_ = std::max(levels_, *level + 1);
    if (!take(rest, "block.")) continue;
    if (const auto block = take_number(rest)) blocks_ = std::max(blocks_, *block + 1);
  }
}

/// In the sequence each level ends with its residual blocks. Before them are its upsampling and, where the
/// width changes, a residual block that does that.
void TensorNames::find_ltx_modules() {
  enum class Kind { blocks, widening, upsampling };
  std::map<int, Kind> sequence;
  for (const std::string& name : stored_) {
    std::string_view rest = name;
    if (!take(rest, prefix_) || !take(rest, "decoder.up_blocks.")) continue;
    const auto number = take_number(rest);
    if (!number) continue;
    sequence.try_emplace(*number, rest.starts_with("res_blocks.") ? Kind::blocks
                                  : rest.starts_with("conv.")     ? Kind::upsampling
                                                                  : Kind::widening);
  }
  int level = -1;  // of the middle
  for (const auto& [number, kind] : sequence) {
    const std::string part =
        level < 0 ? "decoder.mid_block." : "decoder.up_blocks." + std::to_string(level) + ".";
    const std::string stored = "decoder.up_blocks." + std::to_string(number) + ".";
    if (kind == Kind::upsampling) modules_.emplace_back(part + "upsamplers.0.", stored);
    if (kind == Kind::widening) modules_.emplace_back(part + "conv_in.", stored);
    if (kind != Kind::blocks) continue;
    modules_.emplace_back(part + "resnets.", stored + "res_blocks.");
    ++level;
  }
  find_ltx_encoder_modules();
  modules_.emplace_back("latents_mean", "per_channel_statistics.mean-of-means");
  modules_.emplace_back("latents_std", "per_channel_statistics.std-of-means");
}

/// In the encoder's sequence each level's residual blocks precede its downsampling. The last blocks are the
/// middle.
void TensorNames::find_ltx_encoder_modules() {
  std::map<int, bool> sequence;  // by number: whether it has residual blocks
  for (const std::string& name : stored_) {
    std::string_view rest = name;
    if (!take(rest, prefix_) || !take(rest, "encoder.down_blocks.")) continue;
    if (const auto number = take_number(rest)) sequence.try_emplace(*number, rest.starts_with("res_blocks."));
  }
  int level = 0;
  for (const auto& [number, has_blocks] : sequence) {
    const std::string stored = "encoder.down_blocks." + std::to_string(number) + ".";
    const std::string part = "encoder.down_blocks." + std::to_string(level) + ".";
    const bool middle = has_blocks && number == sequence.rbegin()->first;
    if (has_blocks)
      modules_.emplace_back((middle ? "encoder.mid_block." : part) + "resnets.", stored + "res_blocks.");
    else
      modules_.emplace_back(part + "downsamplers.0.", stored);
    level += has_blocks ? 0 : 1;
  }
}

bool TensorNames::has_decoder() const {
  return layout_ == Layout::tiny || std::any_of(stored_.begin(), stored_.end(), [](const std::string& name) {
           return name.starts_with("decoder.") || name.find(".decoder.") != std::string::npos;
         });
}

std::optional<std::string> TensorNames::find(const std::string& name) const {
  if (stored_.contains(name)) return name;
  std::vector<std::string> candidates{older_diffusers_name(name)};
  switch (layout_) {
    case Layout::diffusers:
      candidates.push_back(prefix_ + name);
      break;
    case Layout::stable_diffusion:
    case Layout::coarsest_first: {
      const Levels levels{levels_, blocks_, layout_ == Layout::coarsest_first};
      candidates.push_back(prefix_ + stable_diffusion_name(name, levels));
      candidates.push_back(prefix_ +
                           with_renamed_start(name, {{"post_quant_conv.", "decoder.post_quant_conv."},
                                                     {"quant_conv.", "encoder.quant_conv."}}));
      break;
    }
    case Layout::ltx: {
      const std::string renamed = ltx_name(name, modules_);
      candidates.push_back(prefix_ + renamed);
      // diffusers renames LTX-Video's nested modules.
      candidates.push_back(prefix_ + with_renamed_part(renamed, ".conv_shortcut.conv.", ".conv_shortcut."));
      candidates.push_back(prefix_ + with_renamed_part(renamed, ".norm3.", ".norm3.norm."));
      break;
    }
    case Layout::wan:
    case Layout::wan_nested:
      candidates.push_back(prefix_ + wan_name(name, layout_ == Layout::wan_nested));
      break;
    case Layout::tiny:
      candidates.push_back(prefix_ + tiny_name(name));
      break;
  }
  for (std::string& candidate : candidates) {
    if (stored_.contains(candidate)) return std::move(candidate);
  }
  return {};
}

}  // namespace headroom
