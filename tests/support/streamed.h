#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <vector>

#include "decoder/session/streams.h"
#include "tests/support/decoding.h"

namespace headroom::test {

/// Frames [begin, end) of a clip N×C×T×H×W.
inline Array frames_of(const Array& clip, const Interval& frames) {
  Array part{clip.shape, {}};
  part.shape[2] = frames.length();
  const int64_t positions = clip.shape[3] * clip.shape[4];
  for (int64_t plane = 0; plane < clip.shape[0] * clip.shape[1]; ++plane) {
    const auto first = clip.values.begin() + (plane * clip.shape[2] + frames.begin) * positions;
    part.values.insert(part.values.end(), first, first + frames.length() * positions);
  }
  return part;
}

/// Writes the frames of one push after those of earlier ones.
class Following final : public PictureSink {
 public:
  Following(PictureSink& clip, PictureShape shape, int64_t first, int64_t frames)
      : PictureSink((shape.frames = std::max<int64_t>(1, frames), shape)), clip_(clip), first_(first) {}

 private:
  void put(int64_t item, const Region& region, const float* pixels) override {
    Region own = region;
    own.t = {region.t.begin + first_, region.t.end + first_};
    clip_.write(item, own, pixels);
  }
  void complete() override {}
  PictureSink& clip_;
  int64_t first_;
};

struct Streamed {
  Array clip;
  int64_t state_bytes = 0, peak_bytes = 0;
  std::vector<int64_t> made;  ///< frames of each push
};

/// Pushes frames [begin, end) of the input, and writes the output behind the `made` frames of earlier pushes.
inline int64_t push(OpenStream& stream, const Array& input, const Interval& frames, PictureSink& clip,
                    int64_t made) {
  std::optional<Following> sink;
  return stream.push(frames_of(input, frames), frames.length() == 0,
                     [&](const PictureShape& shape) -> PictureSink& {
                       return sink.emplace(clip, shape, made, shape.frames);
                     });
}

inline void push_nowhere(OpenStream& stream, const Array& block, bool ends = false) {
  std::optional<DiscardingSink> sink;
  stream.push(block, ends, [&](const PictureShape& shape) -> PictureSink& { return sink.emplace(shape); });
}

/// Streams the input in blocks that `next(taken)` draws, and requires that each frame is written once.
/// `between(stream)` may replace the stream between two blocks.
template <typename Next, typename Between>
Streamed streamed(std::unique_ptr<OpenStream>& stream, const Model& model, const Request& request,
                  const Array& input, const Next& next, const Between& between) {
  const PictureShape shape = picture_shape(model, request);
  MemorySink clip(shape);
  Streamed result;
  int64_t taken = 0, made = 0;
  while (!stream->ended()) {
    between(stream);
    const int64_t frames = next(taken);
    const int64_t ready = push(*stream, input, {taken, taken + frames}, clip, made);
    taken += frames;
    made += ready;
    result.made.push_back(ready);
    result.state_bytes = std::max(result.state_bytes, stream->state_bytes());
    result.peak_bytes = std::max(result.peak_bytes, stream->measured_peak_bytes());
  }
  CHECK(made == shape.frames);
  CHECK(clip.overwritten == 0);
  result.clip = std::move(clip.picture);
  return result;
}

template <typename Next>
Streamed streamed(std::unique_ptr<OpenStream>& stream, const Model& model, const Request& request,
                  const Array& input, const Next& next) {
  return streamed(stream, model, request, input, next, [](const auto&) {});
}

}  // namespace headroom::test
