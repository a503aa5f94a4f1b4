#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <sstream>
#include <stdexcept>

#include "decoder/files/preview_sink.h"
#include "tests/decoder/files/scratch.h"
#include "tests/support/picture.h"
#include "tests/support/random.h"

namespace headroom {
namespace {

using test::require_input_error;
using test::Scratch;

struct Preview {
  int64_t columns = 0, rows = 0;
  std::string bytes;
  uint8_t at(int64_t y, int64_t x, int64_t c) const {
    return static_cast<uint8_t>(bytes.at(static_cast<size_t>((y * columns + x) * 3 + c)));
  }
};

Preview read_preview(const std::filesystem::path& file) {
  const std::string whole = test::read_bytes(file);
  std::istringstream in(whole);
  std::string magic;
  int64_t most = 0;
  Preview preview;
  in >> magic >> preview.columns >> preview.rows >> most;
  REQUIRE(magic == "P6");
  REQUIRE(most == 255);
  preview.bytes = whole.substr(static_cast<size_t>(in.tellg()) + 1);
  REQUIRE(preview.bytes.size() == static_cast<size_t>(preview.columns * preview.rows * 3));
  return preview;
}

using Value = std::function<float(int64_t y, int64_t x, int64_t c)>;

void write_region(PictureSink& sink, const Interval& rows, const Interval& columns, const Value& value,
                  int64_t item = 0) {
  std::vector<float> pixels;
  for (int64_t y = rows.begin; y < rows.end; ++y)
    for (int64_t x = columns.begin; x < columns.end; ++x)
      for (int64_t c = 0; c < sink.shape().channels; ++c) pixels.push_back(value(y, x, c));
  sink.write(item, {{0, 1}, rows, columns}, pixels.data());
}

uint8_t byte_of(float value) {
  return static_cast<uint8_t>(std::nearbyint(std::clamp(value * 0.5f + 0.5f, 0.0f, 1.0f) * 255.0f));
}

TEST_CASE("preview: a small picture is copied pixel for pixel, as it comes") {
  const Scratch scratch;
  test::MemorySink memory({1, 3, 1, 8, 12});
  PreviewSink sink(memory, scratch / "p.ppm");
  const Value value = [](int64_t y, int64_t x, int64_t c) {
    return float(y * 12 + x) / 50 - 1 + float(c) / 9;
  };
  const Preview before = read_preview(scratch / "p.ppm");
  CHECK(before.columns == 12);
  CHECK(before.rows == 8);
  CHECK(before.bytes == std::string(8 * 12 * 3, char(128)));

  write_region(sink, {2, 5}, {4, 12}, value);
  const Preview some = read_preview(scratch / "p.ppm");
  int wrong = 0;
  for (int64_t y = 0; y < 8; ++y) {
    for (int64_t x = 0; x < 12; ++x) {
      const bool came = y >= 2 && y < 5 && x >= 4;
      for (int64_t c = 0; c < 3; ++c) wrong += some.at(y, x, c) != (came ? byte_of(value(y, x, c)) : 128);
    }
  }
  CHECK(wrong == 0);

  write_region(sink, {0, 2}, {0, 12}, value);
  write_region(sink, {2, 5}, {0, 4}, value);
  write_region(sink, {5, 8}, {0, 12}, value);
  sink.finish();
  CHECK(memory.complete_called);
  CHECK(memory.picture.values[0] == value(0, 0, 0));  // the sink behind has all of it
  CHECK(memory.overwritten == 0);
  CHECK(read_preview(scratch / "p.ppm").at(7, 11, 2) == byte_of(value(7, 11, 2)));
  CHECK(scratch.files() == std::vector<std::string>{"p.ppm"});
}

TEST_CASE("preview: a large picture is averaged over squares") {
  const Scratch scratch;
  const int64_t rows = 2050, columns = 1300;  // squares of 3, the last ones cut
  const auto sink_behind = std::make_unique<DiscardingSink>(PictureShape{1, 1, 1, rows, columns});
  PreviewSink sink(*sink_behind, scratch / "p.ppm");
  const Value value = [](int64_t y, int64_t x, int64_t) {
    return static_cast<float>(std::sin(double(y) / 40) * std::cos(double(x) / 30));
  };
  SECTION("whole bands whose ends lie inside squares") {
    for (int64_t y = 0; y < rows; y += 100)
      write_region(sink, {y, std::min<int64_t>(y + 100, rows)}, {0, columns}, value);
  }
  SECTION("tiles of any size, in any order") {
    test::Random random(5);
    std::vector<Region> tiles;
    for (int64_t y = 0; y < rows;) {
      const int64_t bottom = std::min(rows, y + random.integer(1, 90));
      for (int64_t x = 0; x < columns;) {
        const int64_t right = std::min(columns, x + random.integer(1, 400));
        tiles.push_back({{0, 1}, {y, bottom}, {x, right}});
        x = right;
      }
      y = bottom;
    }
    for (size_t i = tiles.size() - 1; i > 0; --i)
      std::swap(tiles[i], tiles[static_cast<size_t>(random.integer(0, static_cast<int64_t>(i)))]);
    for (const Region& tile : tiles) write_region(sink, tile.y, tile.x, value);
  }
  sink.finish();
  const Preview preview = read_preview(scratch / "p.ppm");
  CHECK(preview.rows == 684);
  CHECK(preview.columns == 434);
  int largest = 0;
  for (int64_t y = 0; y < preview.rows; ++y) {
    for (int64_t x = 0; x < preview.columns; ++x) {
      const int expected = byte_of(value(std::min(3 * y + 1, rows - 1), std::min(3 * x + 1, columns - 1), 0));
      for (int64_t c = 0; c < 3; ++c) largest = std::max(largest, std::abs(preview.at(y, x, c) - expected));
    }
  }
  CHECK(largest <= 8);  // a pixel that was left out would be some 100 off
}

TEST_CASE("preview: a pixel is that of the tile that holds its middle, whichever comes first") {
  const Scratch scratch;
  const int64_t columns = 3 * 1024;  // squares of 3
  const int64_t cut = GENERATE(1, 2);
  const bool left_first = GENERATE(true, false);
  CAPTURE(cut, left_first);
  DiscardingSink behind({1, 1, 1, 6, columns});
  PreviewSink sink(behind, scratch / "p.ppm");
  const auto write_left = [&] {
    write_region(sink, {0, 6}, {0, cut}, [](int64_t, int64_t, int64_t) { return -1.0f; });
  };
  const auto write_right = [&](const Interval& rows) {
    write_region(sink, rows, {cut, columns},
                 [&](int64_t y, int64_t, int64_t) { return y < 3 + cut ? 1.0f : 0.0f; });
  };
  if (left_first) write_left();
  write_right({3 + cut, 6});
  write_right({0, 3 + cut});
  if (!left_first) write_left();
  const Preview preview = read_preview(scratch / "p.ppm");
  CHECK(preview.at(0, 0, 0) == (cut == 1 ? 255 : 0));
  CHECK(preview.at(0, 1, 0) == 255);
  CHECK(preview.at(1, 1, 0) == (cut == 1 ? 128 : 255));
}

TEST_CASE("preview: no picture has more than 1024 pixels across") {
  const Scratch scratch;
  struct Sizes {
    int64_t rows, columns, preview_rows, preview_columns;
  };
  for (const auto& [rows, columns, preview_rows, preview_columns] :
       {Sizes{1024, 1024, 1024, 1024}, Sizes{1025, 1024, 513, 512}, Sizes{8192, 8192, 1024, 1024},
        Sizes{1, 16'000'000, 1, 1024}, Sizes{1, 1, 1, 1}, Sizes{20'001, 7, 1001, 1}}) {
    CAPTURE(rows, columns);
    DiscardingSink behind({1, 3, 1, rows, columns});
    const PreviewSink sink(behind, scratch / "p.ppm");
    const Preview preview = read_preview(scratch / "p.ppm");
    CHECK(preview.rows == preview_rows);
    CHECK(preview.columns == preview_columns);
    CHECK(std::filesystem::file_size(scratch / "p.ppm") <= 3 * 1024 * 1024 + 20);
  }
}

TEST_CASE("preview: of a batch it shows the first") {
  const Scratch scratch;
  DiscardingSink behind({2, 1, 1, 2, 2});
  PreviewSink sink(behind, scratch / "p.ppm");
  write_region(
      sink, {0, 2}, {0, 2}, [](int64_t, int64_t, int64_t) { return 1.0f; }, 1);
  CHECK(read_preview(scratch / "p.ppm").bytes == std::string(12, char(128)));
  write_region(
      sink, {0, 2}, {0, 2}, [](int64_t, int64_t, int64_t) { return -1.0f; }, 0);
  CHECK(read_preview(scratch / "p.ppm").bytes == std::string(12, '\0'));
}

TEST_CASE("preview: of a clip it shows the first frame") {
  const Scratch scratch;
  DiscardingSink behind({1, 1, 5, 2, 2});
  PreviewSink sink(behind, scratch / "p.ppm");
  const auto write_column = [&](const Interval& frames, int64_t column) {
    std::vector<float> pixels;
    for (int64_t t = frames.begin; t < frames.end; ++t) {
      pixels.insert(pixels.end(), 2, t == 0 ? (column == 0 ? 1.0f : -1.0f) : 0.5f);
    }
    sink.write(0, {frames, {0, 2}, {column, column + 1}}, pixels.data());
  };
  for (const int64_t column : {0, 1}) {
    write_column({0, 3}, column);
    write_column({3, 5}, column);
  }
  sink.finish();
  const std::string row("\xff\xff\xff\0\0\0", 6);
  CHECK(read_preview(scratch / "p.ppm").bytes == row + row);
}

TEST_CASE("preview: it stays behind a picture that is finished") {
  const Scratch scratch;
  {
    DiscardingSink behind({1, 1, 1, 1, 1});
    PreviewSink sink(behind, scratch / "p.ppm");
    write_region(sink, {0, 1}, {0, 1}, [](int64_t, int64_t, int64_t) { return 1.0f; });
    sink.finish();
  }
  CHECK(read_preview(scratch / "p.ppm").bytes == "\xff\xff\xff");
}

TEST_CASE("preview: it goes with a picture that is not finished, and replaces what was there") {
  const Scratch scratch;
  scratch.write("p.ppm", "something else");
  {
    DiscardingSink behind({1, 3, 1, 4, 4});
    PreviewSink sink(behind, scratch / "p.ppm");
    CHECK(read_preview(scratch / "p.ppm").rows == 4);
    write_region(sink, {0, 2}, {0, 4}, [](int64_t, int64_t, int64_t) { return 0.5f; });
    CHECK_THROWS_AS(sink.finish(), std::logic_error);
  }
  CHECK(scratch.files().empty());
}

TEST_CASE("preview: a file that is taken away does not stop the picture") {
  const Scratch scratch;
  test::MemorySink memory({1, 3, 1, 4, 4});
  PreviewSink sink(memory, scratch / "p.ppm");
  std::filesystem::remove(scratch / "p.ppm");
  write_region(sink, {0, 4}, {0, 4}, [](int64_t, int64_t, int64_t) { return 0.5f; });
  sink.finish();
  CHECK(memory.complete_called);
  CHECK(scratch.files().empty());
}

TEST_CASE("preview: names and shapes that do not do are refused") {
  const Scratch scratch;
  DiscardingSink rgb({1, 3, 1, 4, 4}), many({1, 4, 1, 4, 4});
  require_input_error([&] { PreviewSink(rgb, scratch / "p.png"); }, {"p.png", ".ppm"});
  require_input_error([&] { PreviewSink(rgb, scratch / "p"); }, {"p", ".ppm"});
  require_input_error([&] { PreviewSink(many, scratch / "p.ppm"); },
                      {"p.ppm", "PPM has no alpha", "4 channels (RGBA)"});
  require_input_error([&] { PreviewSink(rgb, scratch / "none/p.ppm"); }, {"p.ppm", "none"});
  std::filesystem::create_directory(scratch / "folder.ppm");
  require_input_error([&] { PreviewSink(rgb, scratch / "folder.ppm"); }, {"folder.ppm", "found a folder"});
  CHECK(scratch.files() == std::vector<std::string>{"folder.ppm"});
}

}  // namespace
}  // namespace headroom
