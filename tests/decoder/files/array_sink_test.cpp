#include <catch2/catch.hpp>
#include <stdexcept>

#include "decoder/files/latent_file.h"
#include "decoder/files/picture_sink.h"
#include "tests/decoder/files/scratch.h"

namespace headroom {
namespace {

using test::require_input_error;
using test::Scratch;

float value_at(int64_t item, int64_t c, int64_t t, int64_t y, int64_t x) {
  return static_cast<float>((((item * 10 + c) * 10 + t) * 100 + y) * 100 + x);
}

void write_region(PictureSink& sink, int64_t item, const Region& region) {
  std::vector<float> pixels;
  for (int64_t t = region.t.begin; t < region.t.end; ++t)
    for (int64_t y = region.y.begin; y < region.y.end; ++y)
      for (int64_t x = region.x.begin; x < region.x.end; ++x)
        for (int64_t c = 0; c < sink.shape().channels; ++c) pixels.push_back(value_at(item, c, t, y, x));
  sink.write(item, region, pixels.data());
}

/// Every item in tiles of these sizes, the last ones cut, columns before rows to show that no order is
/// needed.
void write_tiles(PictureSink& sink, int64_t frames, int64_t rows, int64_t columns) {
  const PictureShape shape = sink.shape();
  for (int64_t t = 0; t < shape.frames; t += frames)
    for (int64_t x = 0; x < shape.columns; x += columns)
      for (int64_t y = 0; y < shape.rows; y += rows)
        for (int64_t item = shape.items - 1; item >= 0; --item)
          write_region(sink, item,
                       {{t, std::min(t + frames, shape.frames)},
                        {y, std::min(y + rows, shape.rows)},
                        {x, std::min(x + columns, shape.columns)}});
}

void check_values(const Array& array, const PictureShape& shape) {
  size_t i = 0, wrong = 0;
  for (int64_t item = 0; item < shape.items; ++item)
    for (int64_t c = 0; c < shape.channels; ++c)
      for (int64_t t = 0; t < shape.frames; ++t)
        for (int64_t y = 0; y < shape.rows; ++y)
          for (int64_t x = 0; x < shape.columns; ++x)
            wrong += array.values.at(i++) != value_at(item, c, t, y, x);
  CHECK(wrong == 0);
  CHECK(i == array.values.size());
}

TEST_CASE("arrays hold what was written, however it was cut") {
  const Scratch scratch;
  for (const char* name : {"o.npy", "o.safetensors"}) {
    for (const int64_t columns : {3, 7, 11}) {
      const PictureShape shape{2, 3, 1, 9, 11};
      CAPTURE(name, columns);
      auto sink = open_sink(scratch / name, shape);
      write_tiles(*sink, 1, 4, columns);
      sink->finish();
      const Array array = read_latent((scratch / name).string());
      CHECK(array.shape == std::vector<int64_t>{2, 3, 9, 11});
      check_values(array, shape);
    }
  }
  CHECK(scratch.files() == std::vector<std::string>{"o.npy", "o.safetensors"});
  CHECK(read_latent((scratch / "o.safetensors").string() + ":sample").shape.size() == 4);
}

TEST_CASE("clips have five extents") {
  const Scratch scratch;
  const PictureShape shape{1, 3, 5, 6, 7};
  auto sink = open_sink(scratch / "o.npy", shape);
  write_tiles(*sink, 2, 4, 5);
  sink->finish();
  const Array array = read_latent((scratch / "o.npy").string());
  CHECK(array.shape == std::vector<int64_t>{1, 3, 5, 6, 7});
  check_values(array, shape);
}

TEST_CASE("clips may come tile by tile, each with its frames in chunks") {
  const Scratch scratch;
  for (const char* name : {"o.npy", "o.safetensors"}) {
    const PictureShape shape{2, 3, 5, 6, 7};
    auto sink = open_sink(scratch / name, shape);
    for (int64_t item = 0; item < shape.items; ++item)
      for (const Interval rows : {Interval{0, 4}, Interval{4, 6}})
        for (const Interval columns : {Interval{0, 7}, Interval{0, 3}, Interval{3, 7}})
          for (const Interval frames : {Interval{0, 1}, Interval{1, 4}, Interval{4, 5}})
            // The upper band in two tiles, the lower one whole.
            if ((columns.length() == 7) == (rows.begin == 4))
              write_region(*sink, item, {frames, rows, columns});
    sink->finish();
    const Array array = read_latent((scratch / name).string());
    CHECK(array.shape == std::vector<int64_t>{2, 3, 5, 6, 7});
    check_values(array, shape);
  }
}

TEST_CASE("a region larger than the buffer is written whole") {
  const Scratch scratch;
  const PictureShape shape{1, 1, 1, 300, 301};
  auto sink = open_sink(scratch / "o.npy", shape);
  std::vector<float> pixels(300 * 301);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>(i);
  sink->write(0, whole({1, 300, 301}), pixels.data());
  sink->finish();
  CHECK(read_latent((scratch / "o.npy").string()).values == pixels);
  CHECK(sink_buffered_bytes("o.npy", shape) < 300 * 301 * 4);
}

TEST_CASE("a sink destroyed before finish leaves nothing and spares what was there") {
  const Scratch scratch;
  for (const std::string name : {"o.npy", "o.safetensors", "o.png", "o.y4m"}) {
    scratch.write(name, "before");
    {
      auto sink = open_sink(scratch / name, {1, 3, 1, 4, 4});
      write_region(*sink, 0, {{0, 1}, {0, 2}, {0, 4}});
      CHECK(scratch.files().size() == 2);
      CHECK_THROWS_AS(sink->finish(), std::logic_error);
    }
    CHECK(scratch.files() == std::vector<std::string>{name});
    CHECK(test::read_bytes(scratch / name) == "before");
    std::filesystem::remove(scratch / name);
  }
}

TEST_CASE("regions outside the picture and positions that come twice are refused") {
  const Scratch scratch;
  auto sink = open_sink(scratch / "o.npy", {1, 1, 1, 4, 4});
  const std::vector<float> pixels(64);
  CHECK_THROWS_AS(sink->write(1, whole({1, 4, 4}), pixels.data()), std::logic_error);
  CHECK_THROWS_AS(sink->write(-1, whole({1, 4, 4}), pixels.data()), std::logic_error);
  CHECK_THROWS_AS(sink->write(0, whole({1, 5, 4}), pixels.data()), std::logic_error);
  CHECK_THROWS_AS(sink->write(0, {{0, 1}, {-1, 2}, {0, 4}}, pixels.data()), std::logic_error);
  sink->write(0, whole({1, 4, 4}), pixels.data());
  CHECK_THROWS_AS(sink->write(0, {{0, 1}, {0, 1}, {0, 1}}, pixels.data()), std::logic_error);
  sink->finish();
}

TEST_CASE("outputs that cannot be are refused at once") {
  const Scratch scratch;
  const PictureShape shape{1, 3, 1, 4, 4};
  require_input_error([&] { open_sink(scratch / "o.gif", shape); },
                      {"o.gif", ".png, .jpg, .webp, .y4m, .npy or .safetensors"});
  require_input_error([&] { open_sink("", shape); }, {".y4m, .npy or .safetensors", "folder"});
  require_input_error([&] { sink_buffered_bytes("o.gif", shape); },
                      {".png, .jpg, .webp, .y4m, .npy or .safetensors"});
  std::filesystem::create_directory(scratch / "folder.npy");
  require_input_error([&] { open_sink(scratch / "folder.npy", shape); }, {"found a folder"});
  for (const char* name : {"none/o.png", "none/o.npy", "none/o.safetensors", "none/o.y4m", "none/o"}) {
    require_input_error([&] { open_sink(scratch / name, shape); }, {name, "existing folder"});
  }
  require_input_error([&] { open_sink(scratch / "o.npy", {1, 3, 1, 0, 4}); }, {"positive"});
  require_input_error([&] { open_sink(scratch / "o.npy", {1 << 30, 1 << 30, 1, 4, 4}); }, {"2^60"});
  CHECK(scratch.files() == std::vector<std::string>{"folder.npy"});
}

TEST_CASE("a disk that is full is a DeviceError and leaves nothing") {
  const Scratch scratch;
  // Larger than any file system takes, so it fails when the space is claimed.
  CHECK_THROWS_AS(open_sink(scratch / "o.npy", {1, 1, 1, int64_t{1} << 29, int64_t{1} << 29}), DeviceError);
  CHECK(scratch.files().empty());
}

}  // namespace
}  // namespace headroom
