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

}  // namespace headroom
