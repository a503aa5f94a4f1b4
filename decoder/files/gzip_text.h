#pragma once

#include <filesystem>
#include <istream>
#include <memory>

namespace headroom {

/// Whether a file begins as gzip's do. False where it cannot be read.
bool is_gzip(const std::filesystem::path& file);

/// What a text file may unpack to.
struct UnpackedBounds {
  int64_t most_bytes = 0;
  int64_t most_ratio = 100;         ///< of unpacked to packed bytes: traces reach some 20, zeros 1000
  int64_t always_bytes = 16 << 20;  ///< this much whatever the ratio
};

/// A JSON text as it is or, where the file is gzip's, as it unpacks: a part at a time, so that none of it
/// stands in memory. Throws InputError where there is no such file; reading throws it in the streambuf's
/// functions where the file is damaged, is cut off, passes the bounds or has a string of more than 1 MiB, and
/// DeviceError where it cannot be read.
std::unique_ptr<std::istream> open_json_text(const std::filesystem::path& file, const UnpackedBounds& bounds);

}  // namespace headroom
