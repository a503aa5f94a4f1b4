#pragma once

#include <png.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace headroom::test {

struct PngPicture {
  int64_t columns = 0, rows = 0;
  std::vector<uint8_t> bytes;  ///< [rows][columns][channels]
};

/// Checks that the file is gray (1 channel), RGB or RGBA, and whole.
inline PngPicture read_png(const std::filesystem::path& file, int64_t channels) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  REQUIRE(png_image_begin_read_from_file(&image, file.c_str()));
  CHECK(image.format == (channels == 1 ? PNG_FORMAT_GRAY : channels == 4 ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB));
  PngPicture picture{image.width, image.height, std::vector<uint8_t>(PNG_IMAGE_SIZE(image))};
  REQUIRE(png_image_finish_read(&image, nullptr, picture.bytes.data(), 0, nullptr));
  return picture;
}

}  // namespace headroom::test
