#pragma once

#include <cstdint>
#include <vector>

#include "decoder/base/json_fields.h"

namespace headroom {

/// Reads a list of the channels of each resolution. Throws InputError for a width that is no multiple of
/// `groups`, and for an empty list.
std::vector<int64_t> read_widths(const JsonFields& list, int32_t groups);

/// Reads `block_out_channels`, the channels of each resolution; by default `widths`. Throws InputError unless
/// each width is a multiple of `groups`, and the key `types` lists `block` once for each width. A config may
/// omit `types`.
std::vector<int64_t> read_group_norm_widths(const JsonFields& json, const char* block,
                                            std::vector<int64_t> widths, int32_t groups,
                                            const char* types = "up_block_types");

}  // namespace headroom
