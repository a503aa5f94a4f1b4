#include "decoder/graph/short_name.h"

#include <algorithm>
#include <array>
#include <utility>

namespace headroom {

namespace {

// What diffusers' decoders name their parts, and what these are called here.
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

bool is_name_character(char c) {
  return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9') || c == '_';
}

/// Where the name that begins at `begin` with "decoder" ends; at `begin` where it is none.
size_t end_of_name(std::string_view text, size_t begin) {
  constexpr std::string_view path_characters = "./-";
  if (begin > 0 &&
      (is_name_character(text[begin - 1]) || path_characters.find(text[begin - 1]) != path_characters.npos))
    return begin;
  size_t end = begin + std::string_view("decoder").size();
  const size_t bare = end;
  while (end + 1 < text.size() && text[end] == '.' && is_name_character(text[end + 1])) {
    for (++end; end < text.size() && is_name_character(text[end]);) ++end;
  }
  return end == bare ? begin : end;
}

}  // namespace

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

std::string with_short_names(std::string_view text) {
  std::string shown;
  size_t done = 0;
  for (size_t at = text.find("decoder."); at != text.npos; at = text.find("decoder.", at + 1)) {
    const size_t end = end_of_name(text, at);
    if (end == at) continue;
    shown += text.substr(done, at - done);
    shown += short_name(text.substr(at, end - at));
    done = end;
    at = end - 1;
  }
  shown += text.substr(done);
  return shown;
}

}  // namespace headroom
