#include "decoder/weights/tensor_names.h"

#include <algorithm>
#include <array>
#include <charconv>
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

/// `text` with the first of these starts that it has replaced.
std::string with_renamed_start(std::string_view text, const std::vector<Renamed>& renamed) {
  for (const auto& [now, before] : renamed) {
    if (text.starts_with(now)) return std::string(before) + std::string(text.substr(now.size()));
  }
  return std::string(text);
}

/// HunyuanImage's: `number` counts blocks and upsamplings of all levels, which are in the order of decoding.
std::string hunyuan_image_name(int number, std::string_view rest, int blocks) {
  const int level = number / (blocks + 1), module = number % (blocks + 1);
  const std::string up = "decoder.up." + std::to_string(level) + ".";
  return up + (module == blocks ? "upsample." : "block." + std::to_string(module) + ".") + std::string(rest);
}

std::string stable_diffusion_name(const std::string& name, int levels, int blocks) {
  std::string_view rest = name;
  if (take(rest, "decoder.mid_block.resnets.")) {
    if (const auto block = take_number(rest))
      return "decoder.mid.block_" + std::to_string(*block + 1) + "." + std::string(rest);
  } else if (take(rest, "decoder.mid_block.attentions.0.")) {
    return "decoder.mid.attn_1." + with_renamed_start(rest, {{"group_norm.", "norm."},
                                                             {"to_q.", "q."},
                                                             {"to_k.", "k."},
                                                             {"to_v.", "v."},
                                                             {"to_out.0.", "proj_out."},
                                                             {"proj.", "proj_out."}});
  } else if (take(rest, "decoder.up_blocks.")) {
    const auto level = take_number(rest);
    if (!level) return name;
    const std::string up = "decoder.up." + std::to_string(levels - 1 - *level) + ".";
    if (take(rest, "upsamplers.0.")) return up + "upsample." + std::string(rest);
    if (!take(rest, "resnets.")) return hunyuan_image_name(*level, rest, blocks);
    if (const auto block = take_number(rest))
      return up + "block." + std::to_string(*block) + "." +
             with_renamed_start(rest, {{"conv_shortcut.", "nin_shortcut."}});
  }
  return with_renamed_start(name, {{"decoder.conv_norm_out.", "decoder.norm_out."}});
}

/// Wan numbers the modules of a residual block, and its blocks and upsamplers: through all resolutions, or
/// where `nested`, as in Wan 2.2, in each.
std::string wan_name(const std::string& name, bool nested) {
  constexpr int kModulesOfLevel = 4;  // three residual blocks and an upsampler
  const std::vector<Renamed> residual = {{"norm1.", "residual.0."},
                                         {"conv1.", "residual.2."},
                                         {"norm2.", "residual.3."},
                                         {"conv2.", "residual.6."},
                                         {"conv_shortcut.", "shortcut."}};
  std::string_view rest = name;
  if (take(rest, "decoder.mid_block.resnets.")) {
    if (const auto block = take_number(rest))
      return "decoder.middle." + std::to_string(*block * 2) + "." + with_renamed_start(rest, residual);
  } else if (take(rest, "decoder.mid_block.attentions.0.")) {
    return "decoder.middle.1." + std::string(rest);
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
                                   {"post_quant_conv.", "conv2."}});
}

/// TAESD's modules are a sequence that begins with the clamp.
std::string tiny_name(const std::string& name) {
  std::string_view rest = name;
  if (!take(rest, "decoder.layers.")) return name;
  const auto layer = take_number(rest);
  return layer ? std::to_string(*layer + 1) + "." + std::string(rest) : name;
}

/// What stands before `suffix` in the first name that ends so; where `beside` is said, before that in
/// another, too.
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
  if (const auto prefix = prefix_of(stored, "decoder.mid.block_1.norm1.weight")) {
    layout_ = Layout::stable_diffusion;
    prefix_ = *prefix;
    for (const std::string& name : stored) {
      std::string_view rest = name;
      if (!take(rest, prefix_) || !take(rest, "decoder.up.")) continue;
      const auto level = take_number(rest);
      if (!level) continue;
      levels_ = std::max(levels_, *level + 1);
      if (!take(rest, "block.")) continue;
      if (const auto block = take_number(rest)) blocks_ = std::max(blocks_, *block + 1);
    }
  } else if (const auto wan = prefix_of(stored, "decoder.middle.0.residual.0.gamma")) {
    prefix_ = *wan;
    const bool nested = stored_.contains(prefix_ + "decoder.upsamples.0.upsamples.0.residual.0.gamma");
    layout_ = nested ? Layout::wan_nested : Layout::wan;
  } else if (const auto nested = prefix_of(stored, "decoder.conv_in.weight")) {
    prefix_ = *nested;
  } else if (const auto causal = prefix_of(stored, "decoder.conv_in.conv.weight")) {
    prefix_ = *causal;  // HunyuanVideo's, whose convolutions are modules in modules
  } else if (const auto layers = prefix_of(stored, "decoder.layers.0.weight")) {
    prefix_ = *layers;
  } else if (const auto tiny = prefix_of(stored, "3.conv.0.weight", "1.weight")) {
    layout_ = Layout::tiny;  // its encoder has no 1.weight
    prefix_ = *tiny;
  }
}

std::optional<std::string> TensorNames::find(const std::string& name) const {
  std::vector<std::string> candidates{name, older_diffusers_name(name)};
  switch (layout_) {
    case Layout::diffusers:
      candidates.push_back(prefix_ + name);
      break;
    case Layout::stable_diffusion:
      candidates.push_back(prefix_ + stable_diffusion_name(name, levels_, blocks_));
      break;
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
