#include "decoder/pictures/exif.h"

#include <cstdint>
#include <optional>

#include "decoder/base/errors.h"

namespace headroom {
namespace {

constexpr uint32_t kOrientation = 0x0112;
constexpr size_t kEntryBytes = 12;

/// Unsigned number of `size` bytes in the byte order of the file; nullopt beyond its end.
std::optional<uint32_t> number(std::string_view tiff, bool little, size_t at, size_t size) {
  if (at > tiff.size() || size > tiff.size() - at) return {};
  uint32_t value = 0;
  for (size_t i = 0; i < size; ++i)
    value = value << 8 | static_cast<uint8_t>(tiff[at + (little ? size - 1 - i : i)]);
  return value;
}

uint32_t orientation_of(std::string_view tiff) {
  const bool little = tiff.starts_with("II");
  if (!little && !tiff.starts_with("MM")) return 1;
  const auto first = number(tiff, little, 4, 4);
  const auto entries = first ? number(tiff, little, *first, 2) : first;
  for (uint32_t i = 0; entries && i < *entries; ++i) {
    const size_t entry = *first + 2 + i * kEntryBytes;
    if (number(tiff, little, entry, 2) == kOrientation) return number(tiff, little, entry + 8, 2).value_or(1);
  }
  return 1;
}

}  // namespace

void require_upright(std::string_view data, const std::string& origin) {
  constexpr std::string_view kPrefix("Exif\0\0", 6);
  if (data.starts_with(kPrefix)) data.remove_prefix(kPrefix.size());
  const uint32_t orientation = orientation_of(data);
  if (orientation >= 2 && orientation <= 8) {
    throw InputError(origin + ": its EXIF data asks to turn the picture (orientation " +
                     std::to_string(orientation) +
                     "). Turn it first, as with exiftran -a, or remove the EXIF data");
  }
}

}  // namespace headroom
