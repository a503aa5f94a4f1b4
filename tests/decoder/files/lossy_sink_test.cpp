#include <catch2/catch.hpp>
#include <cmath>
// clang-format off
#include <cstdio>  // jpeglib.h needs it and does not include it
#include <jpeglib.h>
// clang-format on

#include "decoder/files/picture_sink.h"
#include "decoder/files/row_writer.h"
#include "tests/decoder/files/scratch.h"

namespace headroom {
namespace {

using test::require_input_error;
using test::Scratch;

/// Smooth, since lossy formats keep that: a displayed value from 0 to 255.
double shade(int64_t y, int64_t x, int64_t c) {
  return 128 + 100 * std::sin(0.05 * double(y) + 0.03 * double(x) * double(c + 1));
}

/// Writes rows of the whole width, and of the last band one half after the other.
void write_picture(PictureSink& sink) {
  const PictureShape& shape = sink.shape();
  for (int64_t item = 0; item < shape.items; ++item) {
    for (int64_t y = 0; y < shape.rows; y += 20) {
      const Interval rows{y, std::min(y + 20, shape.rows)};
      const int64_t middle = rows.end == shape.rows ? shape.columns / 2 : shape.columns;
      for (const Interval columns : {Interval{middle, shape.columns}, Interval{0, middle}}) {
        std::vector<float> pixels;
        for (int64_t row = rows.begin; row < rows.end; ++row)
          for (int64_t x = columns.begin; x < columns.end; ++x)
            for (int64_t c = 0; c < shape.channels; ++c)
              pixels.push_back(static_cast<float>(shade(row, x, c) / 127.5 - 1));
        sink.write(item, {{0, 1}, rows, columns}, pixels.data());
      }
    }
  }
  sink.finish();
}

/// The root of the mean square of a JPEG's pixels less shade().
double jpeg_error(const std::filesystem::path& file, const PictureShape& shape) {
  FILE* in = fopen(file.c_str(), "rb");
  REQUIRE(in != nullptr);
  jpeg_decompress_struct codec;
  jpeg_error_mgr errors;
  codec.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&codec);
  jpeg_stdio_src(&codec, in);
  REQUIRE(jpeg_read_header(&codec, TRUE) == JPEG_HEADER_OK);
  jpeg_start_decompress(&codec);
  REQUIRE(codec.output_width == static_cast<JDIMENSION>(shape.columns));
  REQUIRE(codec.output_height == static_cast<JDIMENSION>(shape.rows));
  REQUIRE(codec.output_components == shape.channels);
  CHECK(codec.comp_info[0].h_samp_factor == 1);  // colour at full resolution
  std::vector<uint8_t> row(static_cast<size_t>(shape.columns * shape.channels));
  double squares = 0;
  for (int64_t y = 0; y < shape.rows; ++y) {
    uint8_t* line = row.data();
    jpeg_read_scanlines(&codec, &line, 1);
    for (int64_t i = 0; i < std::ssize(row); ++i) {
      const double error = row[static_cast<size_t>(i)] - shade(y, i / shape.channels, i % shape.channels);
      squares += error * error;
    }
  }
  jpeg_finish_decompress(&codec);
  jpeg_destroy_decompress(&codec);
  fclose(in);
  return std::sqrt(squares / double(shape.rows * std::ssize(row)));
}

TEST_CASE("jpeg: the picture, gray and RGB, and quality is size") {
  const Scratch scratch;
  for (const int64_t channels : {1, 3}) {
    const PictureShape shape{1, channels, 1, 75, 61};
    for (const char* name : {"o.jpg", "o.jpeg"}) {
      write_picture(*open_sink(scratch / name, shape));
      CHECK(jpeg_error(scratch / name, shape) < 1.5);
    }
    write_picture(*open_sink(scratch / "small.jpg", shape, {}, 20));
    CHECK(std::filesystem::file_size(scratch / "small.jpg") < std::filesystem::file_size(scratch / "o.jpg"));
  }
  CHECK(scratch.files() == std::vector<std::string>{"o.jpeg", "o.jpg", "small.jpg"});
}

TEST_CASE("lossy: items have files of their own, and what is not finished leaves nothing") {
  const Scratch scratch;
  for (const std::string suffix : {".jpg", ".webp"}) {
    if (suffix == ".webp" && !WebpWriter::is_built()) continue;
    write_picture(*open_sink(scratch / ("o" + suffix), {2, 3, 1, 40, 30}));
    CHECK(scratch.files() == std::vector<std::string>{"o-0" + suffix, "o-1" + suffix});
    for (const std::string& file : scratch.files()) std::filesystem::remove(scratch / file);
    {
      auto sink = open_sink(scratch / ("o" + suffix), {1, 3, 1, 40, 30});
      const std::vector<float> rows(20 * 30 * 3);
      sink->write(0, {{0, 1}, {0, 20}, {0, 30}}, rows.data());
    }
    CHECK(scratch.files().empty());
  }
}

TEST_CASE("webp: a picture of its size, and quality is size") {
  if (!WebpWriter::is_built()) return;
  const Scratch scratch;
  for (const int64_t channels : {1, 3}) {
    const PictureShape shape{1, channels, 1, 75, 61};
    write_picture(*open_sink(scratch / "o.webp", shape));
    write_picture(*open_sink(scratch / "small.webp", shape, {}, 10));
    const std::string bytes = test::read_bytes(scratch / "o.webp");
    CHECK(bytes.substr(0, 4) == "RIFF");
    REQUIRE(bytes.substr(8, 8) == "WEBPVP8 ");
    const auto number = [&](size_t at) {
      return (static_cast<uint8_t>(bytes[at]) | static_cast<uint8_t>(bytes[at + 1]) << 8) & 0x3fff;
    };
    CHECK(number(26) == 61);  // of VP8's frame header
    CHECK(number(28) == 75);
    CHECK(test::read_bytes(scratch / "small.webp").size() < bytes.size());
  }
}

TEST_CASE("webp: of four channels the last is alpha") {
  if (!WebpWriter::is_built()) return;
  const Scratch scratch;
  write_picture(*open_sink(scratch / "o.webp", {1, 4, 1, 75, 61}));
  const std::string bytes = test::read_bytes(scratch / "o.webp");
  REQUIRE(bytes.substr(8, 8) == "WEBPVP8X");
  constexpr int kHasAlpha = 0x10;
  CHECK((bytes[20] & kHasAlpha) != 0);
  CHECK(bytes.find("ALPH") != std::string::npos);
}

TEST_CASE("lossy: clips, and pictures that are too large, are refused before the decode") {
  const Scratch scratch;
  const auto refuses = [&](const char* name, const PictureShape& shape,
                           const std::vector<std::string>& parts) {
    require_input_error([&] { open_sink(scratch / name, shape); }, parts);
    require_input_error([&] { check_output(scratch / name, shape); }, parts);
  };
  refuses("o.jpg", {1, 3, 5, 8, 8}, {"o.jpg", ".y4m", "more than one frame"});
  refuses("o.jpg", {1, 4, 1, 8, 8}, {"o.jpg", "JPEG has no alpha", ".png, .webp or .npy"});
  refuses("o.jpg", {1, 3, 1, 8, 65'501}, {"o.jpg", "at most 65500", "65501x8", ".png"});
  for (const char* name : {"o.jpg", "o.png", "o.npy", "o.y4m", "folder/", "o.PNG"})
    check_output(scratch / name, {1, 3, 1, 8, 65'500});
  if (!WebpWriter::is_built()) return;
  refuses("o.webp", {1, 3, 5, 8, 8}, {"o.webp", ".y4m"});
  refuses("o.webp", {1, 3, 1, 16'384, 8}, {"o.webp", "at most 16383", "8x16384", ".png"});
  CHECK(scratch.files().empty());
}

TEST_CASE("lossy: what a sink says that it holds") {
  const PictureShape shape{1, 3, 1, 4096, 4096};
  CHECK(sink_buffered_bytes("o.jpg", shape) < 2 << 20);
  CHECK(sink_buffered_bytes("o.webp", shape) > 4096 * 4096 * 4);  // the whole picture, at the end
  CHECK(sink_buffered_bytes("o.webp", {1, 4, 1, 4096, 4096}) > 2 * sink_buffered_bytes("o.webp", shape));
}

}  // namespace
}  // namespace headroom
