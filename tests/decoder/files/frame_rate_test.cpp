#include <catch2/catch.hpp>

#include "decoder/files/frame_rate.h"
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

}  // namespace
}  // namespace headroom
