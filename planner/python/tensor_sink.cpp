#include "planner/python/tensor_sink.h"

#include "decoder/cpu/loops/storage.h"
#include "decoder/files/runs.h"

namespace headroom::python {
namespace {

constexpr int64_t kPlaneElements = 16 * 1024;

}  // namespace

TensorSink::TensorSink(const PictureShape& shape, Dtype dtype, std::byte* values)
    : PictureSink(shape), dtype_(dtype), values_(values), plane_(kPlaneElements) {}

void TensorSink::put(int64_t item, const Region& region, const float* pixels) {
  const int64_t channels = shape().channels, frame_pixels = shape().rows * shape().columns;
  const int64_t region_pixels = region.y.length() * region.x.length();
  for (int64_t frame = region.t.begin; frame < region.t.end; ++frame, pixels += region_pixels * channels) {
    for (int64_t channel = 0; channel < channels; ++channel) {
      const int64_t plane = ((item * channels + channel) * shape().frames + frame) * frame_pixels;
      for_each_run(region, shape().columns, kPlaneElements, [&](const Run& run) {
        const float* source = pixels + run.source * channels + channel;
        for (int64_t i = 0; i < run.count; ++i) plane_[static_cast<size_t>(i)] = source[i * channels];
        kernels::narrow(dtype_, plane_.data(), values_ + (plane + run.target) * bytes_per_element(dtype_),
                        run.count);
      });
    }
  }
}

}  // namespace headroom::python
