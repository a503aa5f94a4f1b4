#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <sstream>

#include "decoder/files/picture_sink.h"
#include "tests/decoder/files/made_up_clip.h"
#include "tests/decoder/files/scratch.h"

namespace headroom {
namespace {

using test::require_input_error;
using test::Scratch;

struct Clip {
  std::vector<std::string> header;  ///< its words
  std::vector<std::vector<uint8_t>> frames;
};

/// Reads a file whose frames have `planes` planes of full size.
Clip read_y4m(const std::filesystem::path& file, int64_t planes) {
  const std::string bytes = test::read_bytes(file);
  Clip clip;
  size_t at = bytes.find('\n');
  REQUIRE(at != std::string::npos);
  std::istringstream words(bytes.substr(0, at++));
  int64_t columns = 0, rows = 0;
  for (std::string word; words >> word; clip.header.push_back(word)) {
    if (word[0] == 'W') columns = std::stoll(word.substr(1));
    if (word[0] == 'H') rows = std::stoll(word.substr(1));
  }
  const auto frame_bytes = static_cast<size_t>(planes * rows * columns);
  while (at < bytes.size()) {
    REQUIRE(bytes.substr(at, 6) == "FRAME\n");
    at += 6;
    REQUIRE(at + frame_bytes <= bytes.size());
    clip.frames.emplace_back(bytes.begin() + static_cast<ptrdiff_t>(at),
                             bytes.begin() + static_cast<ptrdiff_t>(at + frame_bytes));
    at += frame_bytes;
  }
  return clip;
}

/// Back to 8-bit RGB as players do it, in floating point.
std::vector<uint8_t> to_rgb(const std::vector<uint8_t>& frame) {
  const size_t plane = frame.size() / 3;
  std::vector<uint8_t> rgb;
  for (size_t i = 0; i < plane; ++i) {
    const double luma = (frame[i] - 16) / 219.0;
    const double blue = luma + 1.8556 * (frame[plane + i] - 128) / 224;
    const double red = luma + 1.5748 * (frame[2 * plane + i] - 128) / 224;
    const double green = (luma - 0.2126 * red - 0.0722 * blue) / 0.7152;
    for (const double value : {red, green, blue})
      rgb.push_back(static_cast<uint8_t>(std::lround(std::clamp(value, 0.0, 1.0) * 255)));
  }
  return rgb;
}

void check_clip(const std::filesystem::path& file, const PictureShape& shape, int64_t item) {
  const Clip clip = read_y4m(file, shape.channels);
  REQUIRE(static_cast<int64_t>(clip.frames.size()) == shape.frames);
  int largest = 0;
  for (int64_t t = 0; t < shape.frames; ++t) {
    const std::vector<uint8_t>& frame = clip.frames[static_cast<size_t>(t)];
    const std::vector<uint8_t> found = shape.channels == 3 ? to_rgb(frame) : frame;
    const std::vector<uint8_t> expected = test::clip_frame(shape, item, t);
    REQUIRE(found.size() == expected.size());
    for (size_t i = 0; i < found.size(); ++i) largest = std::max(largest, std::abs(found[i] - expected[i]));
  }
  CHECK(largest <= (shape.channels == 3 ? 2 : 0));  // Y, Cb and Cr are each rounded to 1 in 219 or 224
}

TEST_CASE("y4m: clips are what was written, in whatever order it came") {
  const Scratch scratch;
  for (const int64_t channels : {1, 3}) {
    const PictureShape shape{1, channels, 5, 10, 12};
    std::vector<std::string> files;
    for (const std::vector<Region>& regions : test::ways_to_come(shape)) {
      CAPTURE(channels, files.size());
      auto sink = open_sink(scratch / "o.y4m", shape);
      for (const Region& region : regions) test::write_clip_region(*sink, 0, region);
      CHECK_FALSE(std::filesystem::exists(scratch / "o.y4m"));
      sink->finish();
      check_clip(scratch / "o.y4m", shape, 0);
      files.push_back(test::read_bytes(scratch / "o.y4m"));
      CHECK(files.back() == files.front());
      std::filesystem::remove(scratch / "o.y4m");
    }
  }
  CHECK(scratch.files().empty());
}

TEST_CASE("y4m: the header says what players need to know") {
  const Scratch scratch;
  const auto header = [&](const PictureShape& shape, const FrameRate& rate) {
    auto sink = open_sink(scratch / "o.y4m", shape, rate);
    test::write_clip_region(*sink, 0, whole({shape.frames, shape.rows, shape.columns}));
    sink->finish();
    return read_y4m(scratch / "o.y4m", shape.channels).header;
  };
  CHECK(header({1, 3, 2, 4, 6}, {}) == std::vector<std::string>{"YUV4MPEG2", "W6", "H4", "F24:1", "Ip",
                                                                "A1:1", "C444", "XCOLORRANGE=LIMITED"});
  CHECK(header({1, 1, 1, 1, 1}, {30000, 1001}) == std::vector<std::string>{"YUV4MPEG2", "W1", "H1",
                                                                           "F30000:1001", "Ip", "A1:1",
                                                                           "Cmono", "XCOLORRANGE=FULL"});
}

TEST_CASE("y4m: a region larger than the buffers") {
  const Scratch scratch;
  const PictureShape shape{1, 3, 2, 150, 301};
  auto sink = open_sink(scratch / "o.y4m", shape);
  test::write_clip_region(*sink, 0, whole({2, 150, 301}));
  sink->finish();
  check_clip(scratch / "o.y4m", shape, 0);
  CHECK(sink_buffered_bytes("o.y4m", shape) <= 256 * 1024);
  CHECK(sink_buffered_bytes("o.y4m", {1, 3, 1000, 8192, 8192}) == sink_buffered_bytes("o.y4m", shape));
}

TEST_CASE("y4m: items have files of their own and may alternate") {
  const Scratch scratch;
  const PictureShape shape{3, 3, 4, 8, 9};
  auto sink = open_sink(scratch / "o.y4m", shape);
  for (const Region& region : test::tiles_with_chunks(shape, {3, 5, 4}))
    for (int64_t item = 0; item < 3; ++item) test::write_clip_region(*sink, item, region);
  sink->finish();
  CHECK(scratch.files() == std::vector<std::string>{"o-0.y4m", "o-1.y4m", "o-2.y4m"});
  for (int64_t item = 0; item < 3; ++item)
    check_clip(scratch / ("o-" + std::to_string(item) + ".y4m"), shape, item);
}

TEST_CASE("y4m: what it cannot hold is refused") {
  const Scratch scratch;
  const auto opened = [&](const PictureShape& shape) { open_sink(scratch / "o.y4m", shape); };
  require_input_error(
      [&] {
        opened({1, 4, 2, 8, 8});
      },
      {"o.y4m", "Y4M has no alpha", "4 channels (RGBA)", "a folder, .npy"});
  require_input_error([&] { opened({1, 12, 2, 8, 8}); }, {"o.y4m", "1 or 3 channels for Y4M, found 12"});
  require_input_error([&] { opened({1, 3, 2, 8, int64_t{1} << 31}); }, {"o.y4m", "2^31"});
  // There is no room.
  CHECK_THROWS_AS(opened({1, 1, int64_t{1} << 10, int64_t{1} << 24, int64_t{1} << 24}), DeviceError);
  CHECK(scratch.files().empty());
}

}  // namespace
}  // namespace headroom
