#pragma once

#include <string>
#include <string_view>

namespace headroom {

/// Throws InputError if the data of a JPEG file's APP1 marker, or of a WebP file's EXIF chunk, asks to rotate
/// or mirror the picture (tag 0x0112, EXIF 2.32, 4.6.4). Data that is not EXIF passes.
void require_upright(std::string_view data, const std::string& origin);

}  // namespace headroom
