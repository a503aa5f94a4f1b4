#include "decoder/files/png_writer.h"

#include <fcntl.h>
#include <png.h>
#include <zlib.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <stdexcept>

#include "decoder/base/errors.h"
#include "tests/decoder/files/png_file.h"
#include "tests/decoder/files/scratch.h"

namespace headroom {
namespace {

using test::read_png;
using test::Scratch;

using FileBytes = std::vector<uint8_t>;

struct DrawnPicture {
  int64_t columns = 0, rows = 0, channels = 0;
  FileBytes pixels{};
};

/// Inflates all IDAT chunks. zlib's checksum is checked here: libpng only warns of it.
void check_checksum(const FileBytes& file, const DrawnPicture& picture) {
  FileBytes packed;
  for (size_t at = 8; at + 12 <= file.size();) {
    const size_t bytes =
        size_t{file[at]} << 24 | size_t{file[at + 1]} << 16 | size_t{file[at + 2]} << 8 | file[at + 3];
    const auto data = file.begin() + static_cast<int64_t>(at) + 8;
    if (file[at + 4] == 'I' && file[at + 5] == 'D')
      packed.insert(packed.end(), data, data + static_cast<int64_t>(bytes));
    at += 12 + bytes;
  }
  FileBytes rows(static_cast<size_t>(picture.rows * (1 + picture.columns * picture.channels)));
  uLongf bytes = rows.size();
  CHECK(uncompress(rows.data(), &bytes, packed.data(), packed.size()) == Z_OK);
  CHECK(bytes == rows.size());
}

/// Writes the picture in bands of drawn heights.
FileBytes written(const DrawnPicture& picture, int threads, std::mt19937& random) {
  const Scratch scratch;
  WrittenFile file(scratch / "o.png", "o.png");
  PngWriter writer(file, picture.columns, picture.rows, picture.channels, threads);
  std::uniform_int_distribution<int64_t> height(1, 1 + picture.rows / 2);
  for (int64_t row = 0; row < picture.rows;) {
    const int64_t rows = std::min(height(random), picture.rows - row);
    writer.write_rows(picture.pixels.data() + row * picture.columns * picture.channels, rows);
    row += rows;
  }
  file.close();
  CHECK(read_png(scratch / "o.png", picture.channels).bytes == picture.pixels);
  std::ifstream in(scratch / "o.png", std::ios::binary);
  FileBytes bytes{std::istreambuf_iterator<char>(in), {}};
  check_checksum(bytes, picture);
  return bytes;
}

/// f(row, column, channel) for all pixels.
template <typename F>
DrawnPicture drawn_by(int64_t columns, int64_t rows, int64_t channels, const F& f) {
  DrawnPicture picture{columns, rows, channels};
  for (int64_t y = 0; y < rows; ++y)
    for (int64_t x = 0; x < columns; ++x)
      for (int64_t c = 0; c < channels; ++c) picture.pixels.push_back(static_cast<uint8_t>(f(y, x, c)));
  return picture;
}

DrawnPicture noisy(int64_t columns, int64_t rows, int64_t channels, std::mt19937& random) {
  return drawn_by(columns, rows, channels, [&](int64_t, int64_t, int64_t) { return random(); });
}

/// A picture like a decoder's: slow waves, and noise of a few steps.
DrawnPicture smooth_waves(int64_t columns, int64_t rows, std::mt19937& random) {
  return drawn_by(columns, rows, 3, [&](int64_t y, int64_t x, int64_t c) {
    return 128 + 90 * std::sin(double(x) / 70 + double(c)) * std::cos(double(y) / 90) + double(random() % 7);
  });
}

/// Flat, with a figure that comes again at random distances.
DrawnPicture figures_again(int64_t columns, int64_t rows, std::mt19937& random) {
  DrawnPicture picture = drawn_by(columns, rows, 3, [](int64_t, int64_t, int64_t) { return 250; });
  const DrawnPicture figure = noisy(9, 13, 3, random);
  for (int i = 0; i < 300; ++i) {
    const auto left = static_cast<int64_t>(random() % static_cast<uint64_t>(columns - 9));
    const auto top = static_cast<int64_t>(random() % static_cast<uint64_t>(rows - 13));
    for (int64_t y = 0; y < 13; ++y)
      std::copy_n(figure.pixels.data() + y * 27, 27,
                  picture.pixels.data() + ((top + y) * columns + left) * 3);
  }
  return picture;
}

/// Size of the picture's PNG by libpng, with this writer's level and filters.
size_t bytes_by_libpng(const DrawnPicture& picture) {
  size_t bytes = 0;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  const auto count = [](png_structp from, png_bytep, size_t more) {
    *static_cast<size_t*>(png_get_io_ptr(from)) += more;
  };
  png_set_write_fn(png, &bytes, count, nullptr);
  png_set_compression_level(png, 3);
  png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_SUB | PNG_FILTER_UP);
  png_set_IHDR(png, info, static_cast<png_uint_32>(picture.columns), static_cast<png_uint_32>(picture.rows),
               8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  for (int64_t row = 0; row < picture.rows; ++row)
    png_write_row(png, picture.pixels.data() + row * picture.columns * picture.channels);
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return bytes;
}

TEST_CASE("png writer: pictures of any size come back, the same file by any number of threads") {
  std::mt19937 random(Catch::rngSeed());
  CAPTURE(Catch::rngSeed());
  std::vector<DrawnPicture> pictures = {noisy(1, 1, 1, random),     noisy(1, 1, 3, random),
                                        noisy(700, 1, 3, random),   noisy(1, 900, 1, random),
                                        noisy(30000, 3, 3, random), noisy(65536, 4, 1, random),
                                        noisy(65537, 4, 1, random)};
  for (int i = 0; i < 12; ++i) {
    const auto extent = [&] { return static_cast<int64_t>(1 + random() % 600); };
    const int64_t columns = extent(), rows = extent();
    pictures.push_back(noisy(columns, rows, i % 2 == 0 ? 1 : 3, random));
  }
  pictures.push_back(drawn_by(640, 480, 3, [](int64_t, int64_t, int64_t) { return 7; }));
  for (const DrawnPicture& picture : pictures) {
    CAPTURE(picture.columns, picture.rows, picture.channels);
    const FileBytes alone = written(picture, 1, random);
    CHECK(written(picture, 3, random) == alone);
    CHECK(written(picture, 8, random) == alone);
  }
}

TEST_CASE("png writer: files are as small as libpng's, to 1 %") {
  std::mt19937 random(7);
  for (const DrawnPicture& picture :
       {noisy(300, 400, 3, random), smooth_waves(512, 512, random), figures_again(512, 512, random),
        drawn_by(512, 512, 3, [](int64_t y, int64_t, int64_t) { return y / 8; })}) {
    CHECK(double(written(picture, 2, random).size()) <= 1.01 * double(bytes_by_libpng(picture)));
  }
}

TEST_CASE("png writer: a picture that is given up leaves no thread behind") {
  std::mt19937 random(1);
  const DrawnPicture picture = noisy(512, 512, 3, random);
  const Scratch scratch;
  WrittenFile file(scratch / "o.png", "o.png");
  PngWriter writer(file, 512, 512, 3, 4);
  writer.write_rows(picture.pixels.data(), 300);
}

TEST_CASE("png writer: a full disk is an error of the file") {
  std::mt19937 random(1);
  const DrawnPicture picture = noisy(512, 512, 3, random);
  for (const int threads : {1, 4}) {
    WrittenFile file(::open("/dev/full", O_RDWR), "o.png");
    CHECK_THROWS_AS(PngWriter(file, 512, 512, 3, threads), DeviceError);
  }
}

TEST_CASE("png writer: more rows than the picture has are refused") {
  const Scratch scratch;
  WrittenFile file(scratch / "o.png", "o.png");
  const FileBytes pixels(16);
  PngWriter writer(file, 4, 3, 1, 1);
  CHECK_THROWS_AS(writer.write_rows(pixels.data(), 4), std::logic_error);
  writer.write_rows(pixels.data(), 3);
  CHECK_THROWS_AS(writer.write_rows(pixels.data(), 1), std::logic_error);
}

TEST_CASE("png writer: long rows get fewer threads, so that memory stays small") {
  for (const int64_t columns : {1, 1000, 20000, 300000}) {
    CHECK(PngWriter::buffered_bytes(columns, 3) < 16 << 20);
  }
}

}  // namespace
}  // namespace headroom
