#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// Header of a .npy file. parse_npy_header() has checked that the data fills the rest of the file exactly.
struct NpyHeader {
  std::string descr;           ///< "<f2", "<f4" or "<f8"
  std::vector<int64_t> shape;  ///< each extent >= 0
  int64_t data_begin = 0;      ///< bytes from the start of the file
  int64_t element_bytes = 0;
};

/// Largest header that parse_npy_header() accepts.
constexpr int64_t kMostNpyHeaderBytes = 12 + 64 * 1024;

/// Parses the header of a version 1 or 2 file. `start` holds the file's first kMostNpyHeaderBytes, or all of
/// a shorter file. Throws InputError: `<origin>: <field>: <what was expected>`.
NpyHeader parse_npy_header(std::string_view start, int64_t file_bytes, const std::string& origin);

/// Makes a version 1 header for fp32 in C order.
std::string make_npy_header(const std::vector<int64_t>& shape);

}  // namespace headroom
