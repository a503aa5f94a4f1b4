#include "decoder/base/short_name.h"

#include <algorithm>
#include <array>
#include <utility>

namespace headroom {

namespace {

// Names of parts in diffusers' decoders, with their short forms.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> short_parts = {
    {{"mid_block", "mid"},
     {"up_blocks", "up"},
     {"resnets", "res"},
     {"attentions", "attn"},
     {"upsamplers", "upsample"}}};

bool is_number(std::string_view part) {
  return !part.empty() && std::ranges::all_of(part, [](char c) { return '0' <= c && c <= '9'; });
}

std::string_view short_part(std::string_view part) {
  const auto found =
      std::ranges::find(short_parts, part, &std::pair<std::string_view, std::string_view>::first);
  return found == short_parts.end() ? part : found->second;
}

bool is_word(char c) {
  return ('0' <= c && c <= '9') || ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || c == '_';
}

/// The next full name in a text at or after `from`. Empty, at the text's end, if there is none.
std::string_view next_name(std::string_view text, size_t from) {
  constexpr std::string_view decoder = "decoder.";
  for (size_t at = text.find(decoder, from); at != std::string_view::npos; at = text.find(decoder, at + 1)) {
    constexpr std::string_view joining = "./-";
    if (at > 0 && (is_word(text[at - 1]) || joining.find(text[at - 1]) != std::string_view::npos)) continue;
    size_t end = at + decoder.size() - 1;  // of the last part that has something behind its dot
    while (end + 1 < text.size() && text[end] == '.' && is_word(text[end + 1])) {
      ++end;
      while (end < text.size() && is_word(text[end])) ++end;
    }
    if (end >= at + decoder.size()) return text.substr(at, end - at);
  }
  return text.substr(text.size());
}

}  // namespace

std::string with_short_names(std::string_view text) {
  std::string shown;
  size_t done = 0;
  for (std::string_view name = next_name(text, 0); !name.empty(); name = next_name(text, done)) {
    const auto begin = static_cast<size_t>(name.data() - text.data());
    shown += text.substr(done, begin - done);
    shown += short_name(name);
    done = begin + name.size();
  }
  shown += text.substr(done);
  return shown;
}

std::vector<std::string> full_names(std::string_view text) {
  std::vector<std::string> names;
  size_t done = 0;
  for (std::string_view name = next_name(text, 0); !name.empty(); name = next_name(text, done)) {
    names.emplace_back(name);
    done = static_cast<size_t>(name.data() - text.data()) + name.size();
  }
  return names;
}

std::string short_name(std::string_view name) {
  constexpr std::string_view decoder = "decoder.";
  if (name.starts_with(decoder)) name.remove_prefix(decoder.size());
  std::string shown;
  bool ends_in_number = false;  // a list within a list keeps the dot between its numbers
  while (!name.empty()) {
    const size_t end = std::min(name.find('.'), name.size());
    const std::string_view part = name.substr(0, end);
    const bool joins = is_number(part) && !ends_in_number;
    if (!shown.empty() && !joins) shown += '.';
    shown += short_part(part);
    ends_in_number = is_number(part) || (!part.empty() && is_number(part.substr(part.size() - 1)));
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return shown;
}

}  // namespace headroom
