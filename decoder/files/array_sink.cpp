#include "decoder/files/array_sink.h"

#include "decoder/files/picture_sink.h"

namespace headroom {
namespace {

constexpr int64_t kElementBytes = sizeof(float);

}  // namespace

std::vector<int64_t> ArraySink::array_shape(const PictureShape& shape) {
  if (shape.frames == 1) return {shape.items, shape.channels, shape.rows, shape.columns};
  return {shape.items, shape.channels, shape.frames, shape.rows, shape.columns};
}

ArraySink::ArraySink(const std::filesystem::path& path, const PictureShape& shape, MakeHeader make_header)
    : PlanarSink(shape), file_(path) {
  const std::string header = make_header(array_shape(shape));
  data_begin_ = static_cast<int64_t>(header.size());
  const int64_t values = shape.items * shape.channels * shape.frames * shape.rows * shape.columns;
  file_.reserve(data_begin_ + values * kElementBytes);
  file_.write_at(0, header.data(), data_begin_);
}

void ArraySink::put_run(int64_t first, const float* values, int64_t count) {
  file_.write_at(data_begin_ + first * kElementBytes, values, count * kElementBytes);
}

std::string safetensors_head(std::string json) {
  // Pad the header so that the data is aligned for programs that map the file.
  while (json.size() % 8 != 0) json += ' ';
  std::string length;
  for (int byte = 0; byte < 8; ++byte) length += static_cast<char>(json.size() >> (8 * byte) & 0xff);
  return length + json;
}

std::string make_safetensors_header(const std::vector<int64_t>& shape) {
  int64_t bytes = kElementBytes;
  std::string extents;
  for (size_t i = 0; i < shape.size(); ++i) {
    extents += (i == 0 ? "" : ",") + std::to_string(shape[i]);
    bytes *= shape[i];
  }
  return safetensors_head(R"({"sample":{"dtype":"F32","shape":[)" + extents + R"(],"data_offsets":[0,)" +
                          std::to_string(bytes) + "]}}");
}

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
  end_region(item, region);
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
