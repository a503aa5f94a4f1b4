#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/files/stored_dtype.h"

namespace headroom {

/// Header of a .npy file.
struct NpyHeader {
  std::string descr;           ///< "<f2", "<f4" or "<f8"
  std::vector<int64_t> shape;  ///< each extent >= 0
  int64_t data_begin = 0;      ///< bytes from the start of the file
  StoredDtype dtype = StoredDtype::f32;
};

/// Largest header that npy_header_bytes() accepts.
constexpr int64_t kMostNpyHeaderBytes = 12 + 64 * 1024;

/// Bytes that tell the header's size.
constexpr int64_t kNpyPrefixBytes = 12;

/// Bytes of the header in all, from the first kNpyPrefixBytes of a version 1 or 2 file. Throws InputError:
/// `<origin>: <field>: <what was expected>`.
int64_t npy_header_bytes(std::string_view start, const std::string& origin);
/// Parses a header. `start` begins with all of it. Throws InputError likewise.
NpyHeader parse_npy_header(std::string_view start, const std::string& origin);
/// Throws InputError unless the data fills the rest of a file of this size exactly.
void require_npy_size(const NpyHeader& header, int64_t file_bytes, const std::string& origin);

/// Makes a version 1 header for fp32 in C order.
std::string make_npy_header(const std::vector<int64_t>& shape);

}  // namespace headroom
