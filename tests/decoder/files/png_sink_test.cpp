#include <catch2/catch.hpp>
#include <cmath>
#include <stdexcept>

#include "decoder/files/eight_bit.h"
#include "decoder/files/picture_sink.h"
#include "tests/decoder/files/png_file.h"
#include "tests/decoder/files/scratch.h"

namespace headroom {
namespace {

using test::PngPicture;
using test::read_png;
using test::require_input_error;
using test::Scratch;

uint8_t byte_at(int64_t item, int64_t y, int64_t x, int64_t c) {
  return static_cast<uint8_t>(item * 31 + y * 7 + x * 3 + c * 101 + y * x);
}

void write_region(PictureSink& sink, int64_t item, const Interval& rows, const Interval& columns) {
  std::vector<float> pixels;
  for (int64_t y = rows.begin; y < rows.end; ++y)
    for (int64_t x = columns.begin; x < columns.end; ++x)
      for (int64_t c = 0; c < sink.shape().channels; ++c)
        pixels.push_back(static_cast<float>(byte_at(item, y, x, c)) / 255.0f * 2.0f - 1.0f);
  sink.write(item, {{0, 1}, rows, columns}, pixels.data());
}

void check_picture(const std::filesystem::path& file, const PictureShape& shape, int64_t item) {
  const PngPicture picture = read_png(file, shape.channels);
  REQUIRE(picture.columns == shape.columns);
  REQUIRE(picture.rows == shape.rows);
  size_t i = 0, wrong = 0;
  for (int64_t y = 0; y < shape.rows; ++y)
    for (int64_t x = 0; x < shape.columns; ++x)
      for (int64_t c = 0; c < shape.channels; ++c) wrong += picture.bytes.at(i++) != byte_at(item, y, x, c);
  CHECK(wrong == 0);
}

TEST_CASE("png: bands of the whole width, gray, RGB and RGBA") {
  const Scratch scratch;
  for (const int64_t channels : {1, 3, 4}) {
    const PictureShape shape{1, channels, 1, 23, 17};
    auto sink = open_sink(scratch / "o.png", shape);
    for (int64_t y = 0; y < 23; y += 5) write_region(*sink, 0, {y, std::min<int64_t>(y + 5, 23)}, {0, 17});
    sink->finish();
    check_picture(scratch / "o.png", shape, 0);
  }
  CHECK(scratch.files() == std::vector<std::string>{"o.png"});
}

TEST_CASE("png: a band larger than the conversion buffer") {
  const Scratch scratch;
  const PictureShape shape{1, 3, 1, 200, 301};
  auto sink = open_sink(scratch / "o.png", shape);
  write_region(*sink, 0, {0, 200}, {0, 301});
  sink->finish();
  check_picture(scratch / "o.png", shape, 0);
}

TEST_CASE("png: bands of several regions, in any order of columns") {
  const Scratch scratch;
  const PictureShape shape{1, 3, 1, 10, 17};
  auto sink = open_sink(scratch / "o.png", shape);
  for (const Interval rows : {Interval{0, 4}, Interval{4, 5}}) {
    write_region(*sink, 0, rows, {12, 17});
    write_region(*sink, 0, rows, {0, 5});
    write_region(*sink, 0, rows, {5, 12});
  }
  write_region(*sink, 0, {5, 10}, {0, 17});
  sink->finish();
  check_picture(scratch / "o.png", shape, 0);
}

TEST_CASE("png: regions of several rows each, side by side, one cut into parts before the next begins") {
  const Scratch scratch;
  const PictureShape shape{1, 3, 1, 23, 17};
  auto sink = open_sink(scratch / "o.png", shape);
  for (const Interval band : {Interval{0, 10}, Interval{10, 23}}) {
    for (const Interval columns : {Interval{0, 6}, Interval{6, 17}}) {
      for (int64_t y = band.begin; y < band.end; y += 4)
        write_region(*sink, 0, {y, std::min(y + 4, band.end)}, columns);
    }
  }
  sink->finish();
  check_picture(scratch / "o.png", shape, 0);
}

TEST_CASE("png: any parts of rows that are not complete, or right below them") {
  const Scratch scratch;
  const PictureShape shape{1, 1, 1, 6, 8};
  auto sink = open_sink(scratch / "o.png", shape);
  write_region(*sink, 0, {0, 2}, {0, 4});
  write_region(*sink, 0, {0, 3}, {4, 8});
  write_region(*sink, 0, {3, 4}, {0, 8});
  write_region(*sink, 0, {2, 3}, {1, 4});
  write_region(*sink, 0, {4, 6}, {0, 8});
  write_region(*sink, 0, {2, 3}, {0, 1});
  sink->finish();
  check_picture(scratch / "o.png", shape, 0);
}

TEST_CASE("png: items have files of their own and may alternate") {
  const Scratch scratch;
  const PictureShape shape{3, 3, 1, 8, 9};
  auto sink = open_sink(scratch / "o.png", shape);
  for (const Interval rows : {Interval{0, 3}, Interval{3, 8}})
    for (const Interval columns : {Interval{0, 4}, Interval{4, 9}})
      for (int64_t item = 0; item < 3; ++item) write_region(*sink, item, rows, columns);
  sink->finish();
  CHECK(scratch.files() == std::vector<std::string>{"o-0.png", "o-1.png", "o-2.png"});
  for (int64_t item = 0; item < 3; ++item) {
    check_picture(scratch / ("o-" + std::to_string(item) + ".png"), shape, item);
  }
}

TEST_CASE("png: regions out of order or twice are refused") {
  const Scratch scratch;
  auto sink = open_sink(scratch / "o.png", {1, 1, 1, 8, 8});
  const std::vector<float> pixels(64);
  const auto write = [&](Interval rows, Interval columns) {
    sink->write(0, {{0, 1}, rows, columns}, pixels.data());
  };
  CHECK_THROWS_AS(write({1, 2}, {0, 8}), std::logic_error);
  write({0, 2}, {0, 4});
  CHECK_THROWS_AS(write({0, 3}, {3, 8}), std::logic_error);
  CHECK_THROWS_AS(write({0, 2}, {3, 8}), std::logic_error);
  CHECK_THROWS_AS(write({1, 4}, {0, 8}), std::logic_error);
  CHECK_THROWS_AS(write({3, 4}, {4, 8}), std::logic_error);
  write({0, 2}, {4, 8});
  CHECK_THROWS_AS(write({0, 2}, {4, 8}), std::logic_error);
  CHECK_THROWS_AS(write({1, 3}, {0, 8}), std::logic_error);
  write({2, 8}, {0, 8});
}

TEST_CASE("png: shapes that no PNG holds are refused") {
  const Scratch scratch;
  require_input_error(
      [&] {
        open_sink(scratch / "o.png", {1, 12, 1, 8, 8});
      },
      {"o.png", "expected 1, 3 or 4 channels for PNG, found 12"});
  require_input_error(
      [&] {
        open_sink(scratch / "o.png", {1, 3, 2, 8, 8});
      },
      {"o.png", "expected .y4m, .npy, .safetensors or a folder (o/)", "more than one frame"});
  require_input_error(
      [&] {
        open_sink(scratch / "o.png", {1, 4, 2, 8, 8});
      },
      {"o.png", "expected .npy, .safetensors or a folder (o/)", "more than one frame"});
  require_input_error(
      [&] {
        open_sink(scratch / "o.png", {1, 3, 1, 8, int64_t{1} << 31});
      },
      {"o.png", "2^31"});
  CHECK(scratch.files().empty());
}

TEST_CASE("png: rows that wait are not in memory") {
  CHECK(sink_buffered_bytes("o.png", {1, 3, 1, 8192, 8192}) < 12 << 20);  // of 192 MiB, by eight threads
}

TEST_CASE("png: no file is left of rows that wait") {
  const Scratch scratch;
  {
    auto sink = open_sink(scratch / "o.png", {1, 3, 1, 8, 8});
    const std::vector<float> pixels(8 * 4 * 3);
    sink->write(0, {{0, 1}, {0, 8}, {0, 4}}, pixels.data());
    CHECK(scratch.files().size() == 1);  // the output's own
  }
  CHECK(scratch.files().empty());
}

}  // namespace
}  // namespace headroom
