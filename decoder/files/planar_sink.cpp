#include "decoder/files/planar_sink.h"

#include "decoder/files/runs.h"

namespace headroom {
namespace {

constexpr int64_t kRunElements = 64 * 1024;  // a few rows of one channel

}  // namespace

PlanarSink::PlanarSink(const PictureShape& shape) : PictureSink(shape), run_(kRunElements) {}

int64_t PlanarSink::buffered_bytes() {
  return kRunElements * int64_t{sizeof(float)};
}

void PlanarSink::put(int64_t item, const Region& region, const float* pixels) {
  const int64_t frame_values = region.y.length() * region.x.length() * shape().channels;
  for (int64_t frame = region.t.begin; frame < region.t.end; ++frame, pixels += frame_values)
    put_frame(item, frame, region, pixels);
}

void PlanarSink::put_frame(int64_t item, int64_t frame, const Region& region, const float* pixels) {
  const int64_t channels = shape().channels;
  for (int64_t channel = 0; channel < channels; ++channel) {
    const int64_t plane =
        ((item * channels + channel) * shape().frames + frame) * shape().rows * shape().columns;
    for_each_run(region, shape().columns, kRunElements, [&](const Run& run) {
      const float* source = pixels + run.source * channels + channel;
      for (int64_t i = 0; i < run.count; ++i) run_[static_cast<size_t>(i)] = source[i * channels];
      put_run(plane + run.target, run_.data(), run.count);
    });
  }
}

}  // namespace headroom
