#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// One tensor as a safetensors header describes it.
struct SafetensorsEntry {
  std::string name;
  std::string dtype;           ///< safetensors' name, e.g. "BF16"
  std::vector<int64_t> shape;  ///< at most 16 extents, each >= 0
  int64_t begin = 0;           ///< bytes, from the end of the header
  int64_t end = 0;
};

/// Parses a header and returns its entries in order. The entries must cover the `data_bytes` after the
/// header without gaps or overlaps. Each entry's size must match its shape and dtype. An unknown dtype is an
/// error only for code that reads that tensor. "__metadata__" is skipped. Throws InputError: `<origin>:
/// <tensor>: <field>: <what was expected>`.
std::vector<SafetensorsEntry> parse_safetensors_header(std::string_view text, int64_t data_bytes,
                                                       const std::string& origin);

}  // namespace headroom
