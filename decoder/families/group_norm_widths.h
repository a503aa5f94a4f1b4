#pragma once

#include <cstdint>
#include <vector>

#include "decoder/base/json_fields.h"

namespace headroom {

/// Channels of each resolution from a config's `block_out_channels`, `widths` if it has none. Throws
/// InputError unless `groups` divides each of them, and `up_block_types` has `block` as often as there are
/// widths.
std::vector<int64_t> read_group_norm_widths(const JsonFields& json, const char* block,
                                            std::vector<int64_t> widths, int32_t groups);

}  // namespace headroom
