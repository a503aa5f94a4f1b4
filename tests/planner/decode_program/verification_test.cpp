#include "planner/decode_program/verification.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/decoder/files/made_up_clip.h"
#include "tests/decoder/files/scratch.h"

namespace headroom {
namespace {

using test::Scratch;

TEST_CASE("clips are compared position by position, however either of them was cut") {
  const Scratch scratch;
  const PictureShape shape{2, 3, 5, 10, 12};
  const std::vector<std::vector<Region>> ways = test::ways_to_come(shape);
  for (size_t i = 0; i < ways.size(); ++i) {
    CAPTURE(i);
    const auto write_all = [&](PictureSink& sink, const std::vector<Region>& regions) {
      for (int64_t item = 0; item < shape.items; ++item)
        for (const Region& region : regions) test::write_clip_region(sink, item, region);
      sink.finish();
    };
    TeeSink both(open_sink(scratch / "first.npy", shape), open_sink(scratch / "second.npy", shape));
    write_all(both, ways[i]);
    CHECK(test::read_bytes(scratch / "first.npy") == test::read_bytes(scratch / "second.npy"));
    ComparingSink comparison(scratch / "first.npy", shape);
    write_all(comparison, ways[ways.size() - 1 - i]);
    const Verification found = comparison.result("itself");
    CHECK(found.largest_error == 0);
    CHECK(found.reference_magnitude == 1);
    CHECK(std::isinf(found.psnr_db));
  }
}

TEST_CASE("a difference in a late frame is found") {
  const Scratch scratch;
  const PictureShape shape{1, 1, 3, 2, 2};
  std::vector<float> pixels{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, -1};
  const auto sink = open_sink(scratch / "decoded.npy", shape);
  sink->write(0, whole({3, 2, 2}), pixels.data());
  sink->finish();
  pixels.back() = -0.75f;
  ComparingSink comparison(scratch / "decoded.npy", shape);
  comparison.write(0, whole({3, 2, 2}), pixels.data());
  comparison.finish();
  const Verification found = comparison.result("another");
  CHECK(found.compared_with == "another");
  CHECK(found.largest_error == 0.25);
  CHECK(found.psnr_db == Approx(20 * std::log10(1.75 / std::sqrt(0.0625 / 12))));
}

}  // namespace
}  // namespace headroom
