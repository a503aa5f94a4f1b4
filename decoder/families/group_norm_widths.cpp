#include "decoder/families/group_norm_widths.h"

#include <string>

namespace headroom {
namespace {

constexpr int64_t kMostChannels = 1 << 14;
constexpr size_t kMostStages = 8;

}  // namespace

std::vector<int64_t> read_widths(const JsonFields& list, int32_t groups) {
  std::vector<int64_t> widths;
  for (size_t i = 0; i < list.size(kMostStages); ++i) {
    widths.push_back(list[i].integer(1, kMostChannels));
    if (widths.back() % groups != 0)
      list[i].fail("expected a multiple of the norms' " + std::to_string(groups) + " groups, found " +
                   std::to_string(widths.back()));
  }
  if (widths.empty()) list.fail("expected at least one width");
  return widths;
}

std::vector<int64_t> read_group_norm_widths(const JsonFields& json, const char* block,
                                            std::vector<int64_t> widths, int32_t groups, const char* types) {
  size_t blocks = widths.size();
  if (json.has("block_out_channels")) {
    const JsonFields found = json["block_out_channels"];
    widths.clear();
    for (size_t i = 0; i < found.size(kMostStages); ++i) widths.push_back(found[i].integer(1, kMostChannels));
    if (widths.empty()) found.fail("expected at least one width");
  }
  for (int64_t width : widths) {
    if (width % groups != 0)
      json.fail("block_out_channels: expected multiples of norm_num_groups = " + std::to_string(groups) +
                ", found " + std::to_string(width));
  }
  if (json.has(types)) {
    const JsonFields found = json[types];
    blocks = found.size(kMostStages);
    for (size_t i = 0; i < blocks; ++i) {
      if (found[i].text() != block)
        found[i].fail("'" + found[i].text() + "' is not supported; expected " + block);
    }
  }
  if (blocks != widths.size())
    json.fail(std::string(types) + ": expected as many as block_out_channels has, " +
              std::to_string(widths.size()) + ", found " + std::to_string(blocks));
  return widths;
}

}  // namespace headroom
