#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <set>

#include "decoder/base/os/left_behind.h"
#include "decoder/files/picture_sink.h"
#include "tests/decoder/files/made_up_clip.h"
#include "tests/decoder/files/png_file.h"
#include "tests/decoder/files/scratch.h"

namespace headroom {
namespace {

using test::require_input_error;
using test::Scratch;

std::set<std::string> names_in(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.insert(entry.path().filename().string());
  return names;
}

std::string frame_name(int64_t frame) {
  const std::string number = std::to_string(frame);
  return std::string(5 - number.size(), '0') + number + ".png";
}

/// The folder has the item's frames and nothing else.
void check_frames(const std::filesystem::path& folder, const PictureShape& shape, int64_t item) {
  std::set<std::string> expected;
  for (int64_t t = 0; t < shape.frames; ++t) {
    CAPTURE(folder.string(), t);
    expected.insert(frame_name(t));
    const test::PngPicture picture = test::read_png(folder / frame_name(t), shape.channels);
    CHECK(picture.columns == shape.columns);
    CHECK(picture.rows == shape.rows);
    CHECK((picture.bytes == test::clip_frame(shape, item, t)));
  }
  CHECK(names_in(folder) == expected);
}

TEST_CASE("frames: a folder has what was written, in whatever order it came") {
  const Scratch scratch;
  for (const int64_t channels : {1, 3, 4}) {
    const PictureShape shape{1, channels, 5, 10, 12};
    for (const std::vector<Region>& regions : test::ways_to_come(shape)) {
      auto sink = open_sink(scratch / "frames", shape);
      for (const Region& region : regions) test::write_clip_region(*sink, 0, region);
      CHECK_FALSE(std::filesystem::exists(scratch / "frames"));
      sink->finish();
      CHECK(scratch.files() == std::vector<std::string>{"frames"});
      check_frames(scratch / "frames", shape, 0);
      std::filesystem::remove_all(scratch / "frames");
    }
  }
}

TEST_CASE("frames: whole ones are encoded as they come, parts when all have come") {
  const Scratch scratch;
  const PictureShape shape{1, 3, 4, 6, 8};
  auto sink = open_sink(scratch / "frames", shape);
  const std::filesystem::path partial = scratch / ("frames.partial-" + process_mark(getpid()));
  test::write_clip_region(*sink, 0, whole({2, 6, 8}));
  CHECK(names_in(partial) == std::set<std::string>{"00000.png", "00001.png"});
  test::write_clip_region(*sink, 0, {{2, 4}, {0, 6}, {0, 3}});
  CHECK(names_in(partial) == std::set<std::string>{"00000.png", "00001.png", "pixels"});
  CHECK(std::filesystem::file_size(partial / "pixels") <= 4 * 6 * 8 * 3);
  test::write_clip_region(*sink, 0, {{2, 4}, {0, 6}, {3, 8}});
  sink->finish();
  check_frames(scratch / "frames", shape, 0);
}

TEST_CASE("frames: of items there is a folder each, and they may alternate") {
  const Scratch scratch;
  const PictureShape shape{2, 3, 3, 8, 9};
  for (const Extent most : {Extent{2, 8, 9}, Extent{2, 5, 4}}) {
    auto sink = open_sink(scratch / "clips/", shape);
    for (const Region& region : test::tiles_with_chunks(shape, most))
      for (const int64_t item : {1, 0}) test::write_clip_region(*sink, item, region);
    sink->finish();
    CHECK(names_in(scratch / "clips") == std::set<std::string>{"0", "1"});
    for (const int64_t item : {0, 1}) check_frames(scratch / "clips" / std::to_string(item), shape, item);
    std::filesystem::remove_all(scratch / "clips");
  }
}

TEST_CASE("frames: a picture is a clip of one, and frames may be larger than the buffers") {
  const Scratch scratch;
  const PictureShape shape{1, 3, 1, 150, 301};
  for (const Extent most : {Extent{1, 150, 301}, Extent{1, 64, 301}, Extent{1, 64, 200}}) {
    auto sink = open_sink(scratch / "picture.d/", shape);  // the slash says that it is a folder
    for (const Region& region : test::tiles_with_chunks(shape, most))
      test::write_clip_region(*sink, 0, region);
    sink->finish();
    check_frames(scratch / "picture.d", shape, 0);
    std::filesystem::remove_all(scratch / "picture.d");
  }
  CHECK(sink_buffered_bytes("o", shape) < 12 << 20);
  CHECK(sink_buffered_bytes("o", {1, 3, 1000, 8192, 8192}) < 12 << 20);
}

TEST_CASE("frames: numbers have as many digits as the last one needs") {
  const Scratch scratch;
  auto sink = open_sink(scratch / "frames", {1, 1, 100'001, 1, 1});
  const std::vector<float> pixel(1);
  sink->write(0, {{7, 8}, {0, 1}, {0, 1}}, pixel.data());
  CHECK(names_in(scratch / ("frames.partial-" + process_mark(getpid()))) ==
        std::set<std::string>{"000007.png"});
}

TEST_CASE("frames: a clip that is not finished leaves nothing and spares what was there") {
  const Scratch scratch;
  const bool there = GENERATE(false, true);
  if (there) std::filesystem::create_directory(scratch / "frames");
  {
    auto sink = open_sink(scratch / "frames", {2, 3, 4, 8, 9});
    test::write_clip_region(*sink, 0, whole({4, 8, 9}));
    test::write_clip_region(*sink, 1, {{0, 4}, {0, 8}, {0, 4}});
    CHECK_THROWS_AS(sink->finish(), std::logic_error);
  }
  CHECK(scratch.files() == (there ? std::vector<std::string>{"frames"} : std::vector<std::string>{}));
}

TEST_CASE("frames: a clip that a signal ends leaves nothing") {
  const Scratch scratch;
  const pid_t child = fork();
  if (child == 0) {
    remove_files_on_signals();
    auto sink = open_sink(scratch / "frames", {2, 3, 4, 8, 9});
    test::write_clip_region(*sink, 0, whole({4, 8, 9}));
    test::write_clip_region(*sink, 1, {{0, 4}, {0, 8}, {0, 4}});
    if (scratch.files().size() != 1) _exit(1);
    raise(SIGTERM);
    _exit(2);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(scratch.files().empty());
}

TEST_CASE("frames: what they cannot hold is refused") {
  const Scratch scratch;
  const auto opened = [&](const PictureShape& shape) { open_sink(scratch / "frames", shape); };
  require_input_error(
      [&] {
        opened({1, 12, 2, 8, 8});
      },
      {"frames", "1, 3 or 4 channels for a folder of PNG, found 12"});
  require_input_error([&] { opened({1, 3, 2, int64_t{1} << 31, 8}); }, {"frames", "2^31"});
  CHECK(scratch.files().empty());
}

}  // namespace
}  // namespace headroom
