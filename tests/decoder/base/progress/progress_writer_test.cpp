#include "decoder/base/progress/progress.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <map>
#include <sstream>
#include <vector>

#include "decoder/base/os/standard_streams.h"
#include "tests/support/reported.h"

namespace headroom {
namespace {

using test::Reported;

/// A writer whose clock stands still unless it is moved.
struct Written {
  std::ostringstream stream;
  double now = 0;
  ProgressWriter writer{stream, [this] { return now; }};

  Reported told() const {
    Reported found = test::told(stream.str());
    CHECK(found.messages.empty());
    return found;
  }
};

PictureRegion row(int64_t y) {
  return {{y, y + 1}, {0, 8}};
}

TEST_CASE("progress lines: what is rare is reported at once, in its order") {
  Written written;
  written.writer.tell(RunBegun{"headroom-decode"});
  written.writer.tell(WeightsLoaded{0.5});
  written.writer.tell(PassStarted{0, 0, 2, "a"});
  written.now = 1;
  written.writer.tell(TileDone{0, 0, 0, 1, 0.5, {}});
  written.writer.tell(MemorySample{5, 7, 1});
  written.now = 2;
  written.writer.tell(RunEnded{3, 0, 0});
  CHECK(written.told().events == std::vector<ProgressEvent>{{0, RunBegun{"headroom-decode"}},
                                                            {0, WeightsLoaded{0.5}},
                                                            {0, PassStarted{0, 0, 2, "a"}},
                                                            {1, TileDone{0, 0, 0, 1, 0.5, {}}},
                                                            {1, MemorySample{5, 7, 1}},
                                                            {2, RunEnded{3, 0, 0}}});
}

TEST_CASE(
    "progress lines: at most 50 a second, nothing is lost of regions and peaks, and the last is reported") {
  Written written;
  constexpr int kTiles = 20'000;  // over four seconds
  std::map<int, int> in_second;
  size_t before = 0;
  for (int i = 0; i < kTiles; ++i) {
    written.now = i / 5000.0;
    if (i % 100 == 0) written.writer.tell(PassStarted{0, i / 100, kTiles / 100, "pass"});
    written.writer.tell(TileDone{0, i / 100, i % 100, 100, i / double(kTiles), row(i)});
    written.writer.tell(MemorySample{1, i == 7777 ? 99 : 2, 0});
    const auto lines = std::count(written.stream.view().begin() + static_cast<int64_t>(before),
                                  written.stream.view().end(), '\n');
    before = written.stream.view().size();
    in_second[i / 5000] += static_cast<int>(lines);
  }
  for (const auto& [second, lines] : in_second) {
    CAPTURE(second);
    CHECK(lines <= 50);
    CHECK(lines >= 30);
  }
  written.writer.tell(RunEnded{});

  const std::vector<TileDone> tiles = written.told().news<TileDone>();
  CHECK(tiles.back().pass == kTiles / 100 - 1);
  CHECK(tiles.back().tile == 99);
  int64_t rows = 0;
  for (const TileDone& tile : tiles) {
    REQUIRE(tile.region);
    CHECK(tile.region->rows.begin == rows);  // every row, in order
    rows = tile.region->rows.end;
  }
  CHECK(rows == kTiles);
  int64_t peak = 0;
  for (const MemorySample& sample : written.told().news<MemorySample>())
    peak = std::max(peak, sample.peak_bytes);
  CHECK(peak == 99);
  int64_t pass = -1;
  for (const ProgressEvent& event : written.told().events) {
    if (const auto* started = std::get_if<PassStarted>(&event.news)) {
      CHECK(started->pass > pass);
      pass = started->pass;
    } else if (const auto* tile = std::get_if<TileDone>(&event.news)) {
      CHECK(tile->pass >= pass);
    }
  }
  CHECK(pass == kTiles / 100 - 1);
  CHECK(std::holds_alternative<RunEnded>(written.told().events.back().news));
}

TEST_CASE("progress lines: the start of a long pass does not wait behind quick tiles") {
  Written written;
  for (int i = 0; i < 1000; ++i) written.writer.tell(TileDone{0, 0, i, 1000, 0.1, row(i)});
  written.writer.tell(PassStarted{0, 1, 2, "attention"});
  const std::vector<ProgressEvent> events = written.told().events;
  CHECK(std::get<PassStarted>(events.back().news).name == "attention");
  CHECK(std::get<TileDone>(events[events.size() - 2].news).tile == 999);
}

TEST_CASE("progress lines: a box around two regions") {
  CHECK(around({{4, 8}, {0, 2}}, {{0, 4}, {6, 9}}) == PictureRegion{{0, 8}, {0, 9}});
  CHECK(around({{4, 8}, {0, 9}}, {{5, 6}, {1, 2}}) == PictureRegion{{4, 8}, {0, 9}});
}

/// Writes into a pipe, and fails as a stream does where the pipe does not take it.
class PipeBuffer final : public std::streambuf {
 public:
  explicit PipeBuffer(int descriptor) : descriptor_(descriptor) {}

 private:
  std::streamsize xsputn(const char* text, std::streamsize length) override {
    return write(descriptor_, text, static_cast<size_t>(length));
  }
  int descriptor_;
};

TEST_CASE("progress lines: a reader that does not read is not waited for") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  REQUIRE(fcntl(ends[1], F_SETPIPE_SZ, 4096) == 4096);
  PipeBuffer buffer(ends[1]);
  std::ostream stream(&buffer);
  double now = 0;
  ProgressWriter writer(
      stream, [&] { return now; }, ends[1]);
  for (int i = 0; i < 10'000; ++i, now += 1) writer.tell(TileDone{0, 0, i, 10'000, 0, row(i)});
  CHECK(stream.good());

  // Read again, it hears where things stand.
  std::string text(8192, '\0');
  text.resize(static_cast<size_t>(::read(ends[0], text.data(), text.size())));
  writer.tell(TileDone{0, 0, 10'000, 10'001, 0, row(10'000)});
  text.resize(8192);
  text.resize(static_cast<size_t>(::read(ends[0], text.data(), text.size())));
  const ProgressEvent last = read_progress_line(text.substr(0, text.find('\n')));
  CHECK(std::get<TileDone>(last.news).tile == 10'000);
  CHECK(std::get<TileDone>(last.news).region->rows.end == 10'001);

  // Gone, it is written to in vain.
  ignore_closed_pipes();
  close(ends[0]);
  for (int i = 0; i < 100; ++i, now += 1) writer.tell(TileDone{0, 0, i, 100, 0, {}});
  writer.tell(RunEnded{});
  CHECK_FALSE(stream.good());
  close(ends[1]);
}

TEST_CASE("progress bar: it says what runs, and leaves nothing") {
  std::ostringstream stream;
  {
    ProgressBar bar(stream);
    bar.tell(PassStarted{0, 0, 1, "decoder.conv_in"});
    CHECK(stream.str().empty());
    bar.tell(TileDone{0, 0, 0, 2, 0.5, {}});
    CHECK_THAT(stream.str(), Catch::EndsWith("[###############               ] 50 % decoder.conv_in"));
  }
  CHECK_THAT(stream.str(), Catch::EndsWith("\r\033[K"));
}

TEST_CASE("progress: the style is as asked for, and no bar is drawn where there is no terminal") {
  const auto written = [](const ProgressOptions& options) {
    std::ostringstream stream;
    make_progress(options, stream)->tell(WeightsLoaded{0.5});
    return stream.str();
  };
  CHECK(written({}).empty());
  CHECK(written({"none"}).empty());
  CHECK(written({"lines", true}).empty());
  CHECK_THAT(written({"bar"}), Catch::Contains("loading weights"));
  CHECK_THAT(written({"lines"}), Catch::StartsWith("headroom-progress {"));
}

}  // namespace
}  // namespace headroom
