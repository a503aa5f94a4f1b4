#include "decoder/families/tensor_names.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "decoder/families/families.h"

namespace headroom {

bool take(std::string_view& text, std::string_view start) {
  if (!text.starts_with(start)) return false;
  text.remove_prefix(start.size());
  return true;
}

std::optional<int> take_number(std::string_view& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return {};
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

namespace {

struct Match {
  std::string_view word, rest;
  std::array<int64_t, 2> numbers{};
  size_t count = 0;  ///< of numbers
};

/// Matches the start of `name` with a pattern such as Renaming::now.
std::optional<Match> match(std::string_view name, std::string_view pattern) {
  Match found{.word = {}, .rest = name};
  if (take(pattern, "@")) {
    found.word = name.substr(0, name.find('.') + 1);
    found.rest.remove_prefix(found.word.size());
  }
  for (const char c : pattern) {
    if (c != '#') {
      if (!take(found.rest, {&c, 1})) return {};
    } else if (const auto number = take_number(found.rest)) {
      found.numbers.at(found.count++) = *number;
    } else {
      return {};
    }
  }
  return found;
}

/// Computes a sum of terms such as "3", "a" or "4b".
int64_t computed(std::string_view sum, const std::array<int64_t, 2>& numbers) {
  int64_t total = 0;
  while (!sum.empty()) {
    const int64_t sign = take(sum, "-") ? -1 : 1;
    take(sum, "+");
    const auto factor = take_number(sum);
    int64_t term = factor.value_or(1);
    if (take(sum, "a"))
      term *= numbers[0];
    else if (take(sum, "b"))
      term *= numbers[1];
    total += sign * term;
  }
  return total;
}

std::string with_renamed_start(std::string_view text, const RenamedStarts& renamed) {
  for (const auto& [now, before] : renamed)
    if (take(text, now)) return std::string(before) + std::string(text);
  return std::string(text);
}

std::optional<std::string> renamed(const std::string& name, const Renaming& renaming) {
  const std::optional<Match> found = match(name, renaming.now);
  if (!found) return {};
  std::string out;
  for (std::string_view before = renaming.before; !before.empty();) {
    if (take(before, "@")) {
      out += found->word;
    } else if (take(before, "{")) {
      const size_t end = before.find('}');
      out += std::to_string(computed(before.substr(0, end), found->numbers));
      before.remove_prefix(end + 1);
    } else {
      out += before.front();
      before.remove_prefix(1);
    }
  }
  return out + with_renamed_start(found->rest, renaming.rest);
}

/// diffusers' names before its attention blocks were unified; group_norm kept its name.
std::string older_diffusers_name(const std::string& name) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kRenamed = {
      {{".to_q.", ".query."}, {".to_k.", ".key."}, {".to_v.", ".value."}, {".to_out.0.", ".proj_attn."}}};
  for (const auto& [now, before] : kRenamed) {
    const size_t at = name.rfind(now);
    if (at == std::string::npos || name.find(".attentions.") > at) continue;
    return std::string(name).replace(at, now.size(), before);
  }
  return name;
}

}  // namespace

int64_t count_of(const CheckpointNames& stored, std::string_view pattern) {
  int64_t count = 0;
  for (const std::string& name : stored)
    if (const auto found = match(name, pattern))
      count = std::max(count, found->numbers[found->count - 1] + 1);
  return count;
}

std::vector<Renaming> stable_diffusion_renamings(const std::string& level) {
  const RenamedStarts shortcut{{"conv_shortcut.", "nin_shortcut."}};
  return {{"@mid_block.resnets.#.", "@mid.block_{a+1}."},
          {"@mid_block.attentions.0.",
           "@mid.attn_1.",
           {{"group_norm.", "norm."},
            {"to_q.", "q."},
            {"to_k.", "k."},
            {"to_v.", "v."},
            {"to_out.0.", "proj_out."},
            {"proj.", "proj_out."}}},
          {"encoder.down_blocks.#.downsamplers.0.", "encoder.down.{a}.downsample."},
          {"encoder.down_blocks.#.resnets.#.", "encoder.down.{a}.block.{b}.", shortcut},
          {"decoder.up_blocks.#.upsamplers.0.", "decoder.up." + level + ".upsample."},
          {"decoder.up_blocks.#.resnets.#.", "decoder.up." + level + ".block.{b}.", shortcut},
          {"@conv_norm_out.", "@norm_out."},
          {"", ""}};
}

TensorNames::TensorNames(const std::vector<std::string>& stored) : stored_(stored.begin(), stored.end()) {
  constexpr auto first = [](const OriginalNames& names) { return names.first; };
  constexpr auto others = [](const OriginalNames& names) { return !names.first && names.beside.empty(); };
  constexpr auto late = [](const OriginalNames& names) { return !names.beside.empty(); };
  if (take_record_of(&OriginalNames::decoder_mark, first)) return;
  if (take_record_of(&OriginalNames::decoder_mark, others) && original_->renamings != nullptr) return;
  // HunyuanVideo nests its convolutions in modules.
  for (const char* of_diffusers :
       {"decoder.conv_in.weight", "decoder.conv_in.conv.weight", "decoder.layers.0.weight"})
    if (take_prefix(of_diffusers)) return;
  if (take_record_of(&OriginalNames::decoder_mark, late)) return;
  // An encode may get the encoder's tensors alone.
  if (!take_record_of(&OriginalNames::encoder_mark, first) &&
      !take_record_of(&OriginalNames::encoder_mark, others))
    take_record_of(&OriginalNames::encoder_mark, late);
  original_ = nullptr;
}

/// Takes the first of these records whose mark is a name, and the renamings of all records with this mark.
bool TensorNames::take_record_of(std::string_view OriginalNames::*mark, bool (*among)(const OriginalNames&)) {
  CheckpointNames own;
  for (const Family& family : families()) {
    const OriginalNames& names = family.original_names;
    if (original_ == nullptr) {
      if (names.*mark == "" || !among(names)) continue;
      if (!take_prefix(names.*mark, mark == &OriginalNames::decoder_mark ? names.beside : "")) continue;
      original_ = &names;
      for (const std::string& name : stored_)
        if (name.starts_with(prefix_)) own.insert(name.substr(prefix_.size()));
    }
    if (names.*mark != original_->*mark || names.renamings == nullptr) continue;
    for (Renaming& renaming : names.renamings(own)) renamings_.push_back(std::move(renaming));
  }
  return original_ != nullptr;
}

/// Takes the alphabetically first prefix before `mark`: empty, or ending in a dot. If `beside` is given, the
/// prefix followed by `beside` must be a name, too.
bool TensorNames::take_prefix(std::string_view mark, std::string_view beside) {
  std::optional<std::string> first;
  for (const std::string& name : stored_) {
    if (!name.ends_with(mark)) continue;
    std::string prefix = name.substr(0, name.size() - mark.size());
    if (!prefix.empty() && !prefix.ends_with('.')) continue;
    if (!beside.empty() && !stored_.contains(prefix + std::string(beside))) continue;
    if (!first || prefix < *first) first = std::move(prefix);
  }
  if (!first) return false;
  prefix_ = *std::move(first);
  return true;
}

bool TensorNames::has_decoder() const {
  return original_ != nullptr || std::any_of(stored_.begin(), stored_.end(), [](const std::string& name) {
           return name.starts_with("decoder.") || name.find(".decoder.") != std::string::npos;
         });
}

/// The prefix of a tensor that diffusers calls `name`.
std::string TensorNames::prefix_of(std::string_view name) const {
  constexpr std::string_view kDecoder = "decoder.";
  if (!prefix_.ends_with(kDecoder) || !name.starts_with("encoder.")) return prefix_;
  return prefix_.substr(0, prefix_.size() - kDecoder.size()) + "encoder.";
}

std::optional<std::string> TensorNames::find(const std::string& name) const {
  if (stored_.contains(name)) return name;
  std::vector<std::string> candidates{older_diffusers_name(name)};
  for (const Renaming& renaming : renamings_)
    if (std::optional<std::string> before = renamed(name, renaming))
      candidates.push_back(prefix_of(name) + *before);
  if (candidates.size() == 1) candidates.push_back(prefix_ + name);
  for (std::string& candidate : candidates) {
    if (stored_.contains(candidate)) return std::move(candidate);
  }
  return {};
}

}  // namespace headroom
