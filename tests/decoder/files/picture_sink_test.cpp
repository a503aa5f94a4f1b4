#include <fcntl.h>
#include <catch2/catch.hpp>

#include "decoder/base/errors.h"
#include "decoder/files/picture_sink.h"
#include "decoder/files/row_writer.h"
#include "tests/decoder/files/open_descriptor.h"
#include "tests/decoder/files/scratch.h"

namespace headroom {
namespace {

TEST_CASE("frame rates are numbers or ratios") {
  struct Case {
    const char* text;
    int64_t frames, seconds;
  };
  for (const auto& [text, frames, seconds] :
       {Case{"24", 24, 1}, Case{"1", 1, 1}, Case{"30000/1001", 30000, 1001}, Case{"1/1000000", 1, 1000000},
        Case{"1000000/1", 1000000, 1}, Case{"60/2", 60, 2}}) {
    CAPTURE(text);
    const FrameRate rate = parse_frame_rate(text, "--fps");
    CHECK(rate.frames == frames);
    CHECK(rate.seconds == seconds);
  }
}

TEST_CASE("what is no frame rate is refused by name") {
  for (const std::string text :
       {"", "0", "-24", "24.5", "24fps", " 24", "24/", "/24", "24/0", "0/24", "24/1/1", "1000001",
        "1/1000001", "99999999999999999999", "+24", "24:1", "1\n2"}) {
    CAPTURE(text);
    test::require_input_error([&] { parse_frame_rate(text, "--fps"); },
                              {"--fps: expected frames per second", "30000/1001", "from 1 to 1000000"});
  }
}

TEST_CASE("batch: no picture appears where the disk is full for the last one") {
  if (!WebpWriter::is_built()) return;  // other formats are encoded as rows come
  const test::Scratch scratch;
  const std::vector<std::string> names{"o-0.webp", "o-1.webp"};
  for (const std::string& name : names) scratch.write(name, "before");
  {
    auto sink = open_sink(scratch / "o.webp", {2, 3, 1, 8, 9});
    const std::vector<float> pixels(size_t{8} * 9 * 3, 0.5F);
    for (int64_t item = 0; item < 2; ++item) sink->write(item, {{0, 1}, {0, 8}, {0, 9}}, pixels.data());
    // From now on every write to the last picture fails.
    const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    REQUIRE(full >= 0);
    REQUIRE(dup2(full, test::open_descriptor_of(scratch / "o-1.webp.partial-")) >= 0);
    close(full);
    CHECK_THROWS_AS(sink->finish(), DeviceError);
  }
  for (const std::string& name : names) CHECK(test::read_bytes(scratch / name) == "before");
  CHECK(scratch.files() == names);
}

}  // namespace
}  // namespace headroom
