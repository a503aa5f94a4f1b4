#include <catch2/catch.hpp>

#include "decoder/graph/geometry.h"
#include "decoder/operations/depth_to_space.h"

namespace headroom {
namespace {

int64_t channel(const DepthFrame& frame, int64_t c, int64_t pixel) {
  return (frame.begin + pixel * frame.pixel_step + c * frame.channel_step) / frame.repeats;
}

Op depth_to_space_of(int64_t inputs, int64_t outputs, DepthOrder order) {
  Graph graph;
  graph.repeated_depth_to_space("op", graph.add_latent(inputs), outputs, {2, 2, 2}, 2, order);
  return graph.ops().front();
}

TEST_CASE("the first frame is the last in depth where channels come first") {
  // Two channels of eight pixels each: every one of the input twice.
  const Op op = depth_to_space_of(8, 2, DepthOrder::channel_first);
  const DepthFrame first = depth_frame(op, 8, 2, 0), second = depth_frame(op, 8, 2, 1),
                   third = depth_frame(op, 8, 2, 2);
  CHECK(first.source == 0);
  CHECK(second.source == 1);
  CHECK(third.source == 1);
  for (int64_t pixel = 0; pixel < 4; ++pixel) {
    for (int64_t c = 0; c < 2; ++c) {
      CHECK(channel(first, c, pixel) == (8 * c + 4 + pixel) / 2);
      CHECK(channel(second, c, pixel) == (8 * c + pixel) / 2);
      CHECK(channel(third, c, pixel) == (8 * c + 4 + pixel) / 2);
    }
  }
}

TEST_CASE("the first frame is made of all channels where pixels come first") {
  for (const int64_t outputs : {3, 6, 12, 24}) {
    // 24 channels: three of each of eight pixels, repeated until there are `outputs`.
    const int64_t inputs = 24;
    CAPTURE(outputs);
    const Op op = depth_to_space_of(inputs, outputs, DepthOrder::pixel_first);
    const DepthFrame first = depth_frame(op, inputs, outputs, 0);
    CHECK(first.source == 0);
    for (int64_t pixel = 0; pixel < 4; ++pixel) {
      for (int64_t c = 0; c < outputs; ++c) {
        // Six of each of four pixels.
        const int64_t own = outputs >= 6 ? c / (outputs / 6) : c;
        CHECK(channel(first, c, pixel) == 6 * pixel + own);
        for (const int64_t later : {1, 2, 5, 6}) {
          const DepthFrame frame = depth_frame(op, inputs, outputs, later);
          const int64_t in_depth = later % 2 == 0 ? 1 : 0;
          CHECK(frame.source == (later + 1) / 2);
          CHECK(channel(frame, c, pixel) == 3 * (4 * in_depth + pixel) + c / (outputs / 3));
        }
      }
    }
  }
}

TEST_CASE("the first frame is the first in depth where frames of a pixel come one after the other") {
  // Three channels of two frames of four pixels, once or twice.
  for (const int64_t inputs : {24, 12}) {
    CAPTURE(inputs);
    const Op op = depth_to_space_of(inputs, 3, DepthOrder::frame_within_pixel);
    for (int64_t number = 0; number < 7; ++number) {
      CAPTURE(number);
      const DepthFrame frame = depth_frame(op, inputs, 3, number);
      const int64_t in_depth = number > 0 && number % 2 == 0 ? 1 : 0;
      CHECK(frame.source == (number + 1) / 2);
      for (int64_t pixel = 0; pixel < 4; ++pixel) {
        for (int64_t c = 0; c < 3; ++c)
          CHECK(channel(frame, c, pixel) == ((2 * pixel + in_depth) * 3 + c) * inputs / 24);
      }
    }
  }
}

TEST_CASE("of one frame depth to space has the pixels of the first") {
  for (const DepthOrder order :
       {DepthOrder::channel_first, DepthOrder::pixel_first, DepthOrder::frame_within_pixel}) {
    Graph clips;
    const TensorId latent = clips.add_latent(16);
    clips.set_output(clips.repeated_depth_to_space("op", latent, 2, {2, 2, 2}, 2, order));
    const Graph picture = clips.of_one_frame();
    REQUIRE(picture.ops().size() == 1);
    const DepthFrame expected = depth_frame(clips.ops().front(), 16, 2, 0);
    const DepthFrame found = depth_frame(picture.ops().front(), 16, 2, 0);
    for (int64_t pixel = 0; pixel < 4; ++pixel) {
      for (int64_t c = 0; c < 2; ++c) CHECK(channel(found, c, pixel) == channel(expected, c, pixel));
    }
  }
}

TEST_CASE("channels that cannot be cut into a first frame are refused") {
  const auto refused = [](int64_t inputs, int64_t outputs) {
    CHECK_THROWS_WITH(depth_to_space_of(inputs, outputs, DepthOrder::pixel_first),
                      Catch::Contains("cannot be"));
  };
  refused(12, 3);  // one and a half of a pixel
  refused(8, 3);   // three times, and the first frame's one and a half
  refused(24, 5);
}

}  // namespace
}  // namespace headroom
