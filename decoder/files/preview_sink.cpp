#include "decoder/files/preview_sink.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "decoder/base/errors.h"
#include "decoder/base/os/open_file.h"
#include "decoder/base/os/output_target.h"
#include "decoder/base/os/partial_file.h"
#include "decoder/base/text.h"
#include "decoder/files/eight_bit.h"

namespace headroom {
namespace {

constexpr int64_t kBytesPerPixel = 3;
constexpr uint8_t kToCome = 128;  // pixel value of the decoder's 0

int64_t parts(int64_t extent, int64_t side) {
  return (extent + side - 1) / side;
}

}  // namespace

PreviewSink::PreviewSink(PictureSink& next, const std::filesystem::path& file)
    : PictureSink(next.shape()),
      next_(next),
      file_(file),
      side_(parts(std::max(shape().rows, shape().columns), kLongestPreview)),
      rows_(parts(shape().rows, side_)),
      columns_(parts(shape().columns, side_)),
      sums_(static_cast<size_t>(columns_ * shape().channels)),
      bytes_(static_cast<size_t>(columns_ * kBytesPerPixel)) {
  if (lower_case(file.extension().string()) != ".ppm")
    throw InputError(file.string() + ": expected a preview in .ppm");
  if (shape().channels == kRgbaChannels) {
    throw InputError(file.string() +
                     ": PPM has no alpha, and this picture has 4 channels (RGBA); leave out --preview");
  }
  require_eight_bit_shape(shape(), file, {"a preview", false});
  if (is_stream(file)) throw InputError(file.string() + ": expected a file for the preview, found a stream");
  file_ = output_target(file).path;  // open_to_overwrite() guards against a link put here later
  make_file();
}

PreviewSink::~PreviewSink() {
  descriptor_.reset();
  if (on_signal_) std::remove(file_.c_str());
}

void PreviewSink::make_file() {
  PartialFile whole(file_);
  const std::string header = "P6\n" + std::to_string(columns_) + " " + std::to_string(rows_) + "\n255\n";
  pixels_begin_ = static_cast<int64_t>(header.size());
  const int64_t row_bytes = columns_ * kBytesPerPixel;
  whole.reserve(pixels_begin_ + rows_ * row_bytes);
  whole.write_at(0, header.data(), pixels_begin_);
  std::fill(bytes_.begin(), bytes_.end(), kToCome);
  for (int64_t row = 0; row < rows_; ++row)
    whole.write_at(pixels_begin_ + row * row_bytes, bytes_.data(), row_bytes);
  on_signal_.emplace(file_);
  whole.commit();
  try {
    descriptor_.emplace(open_to_overwrite(file_));
  } catch (const DeviceError&) {
    std::remove(file_.c_str());
    throw;
  }
}

Interval PreviewSink::square(int64_t pixel, int64_t extent) const {
  return {pixel * side_, std::min((pixel + 1) * side_, extent)};
}

Interval PreviewSink::pixels_in(const Interval& part, int64_t extent) const {
  const auto middle = [&](int64_t pixel) {
    const Interval whole = square(pixel, extent);
    return whole.begin + whole.length() / 2;
  };
  Interval found{part.begin / side_, (part.end - 1) / side_ + 1};
  if (middle(found.begin) < part.begin) ++found.begin;
  if (middle(found.end - 1) >= part.end) --found.end;
  return found;
}

void PreviewSink::put(int64_t item, const Region& region, const float* pixels) {
  next_.write(item, region, pixels);
  if (item != 0 || region.t.begin != 0) return;
  const Interval rows = pixels_in(region.y, shape().rows);
  for (int64_t row = rows.begin; row < rows.end; ++row) draw_row(region, pixels, row);
}

void PreviewSink::draw_row(const Region& region, const float* pixels, int64_t row) {
  const int64_t channels = shape().channels;
  const Interval columns = pixels_in(region.x, shape().columns);
  if (columns.length() == 0 || !descriptor_) return;
  const Interval lines = intersect(square(row, shape().rows), region.y);
  std::fill(sums_.begin(), sums_.end(), 0.0f);
  for (int64_t y = lines.begin; y < lines.end; ++y) {
    const float* line = pixels + (y - region.y.begin) * region.x.length() * channels;
    float* sum = sums_.data();
    for (int64_t column = columns.begin; column < columns.end; ++column, sum += channels) {
      const Interval across = intersect(square(column, shape().columns), region.x);
      const float* value = line + (across.begin - region.x.begin) * channels;
      for (int64_t x = across.begin; x < across.end; ++x) {
        for (int64_t c = 0; c < channels; ++c) sum[c] += *value++;
      }
    }
  }
  float* sum = sums_.data();
  for (int64_t column = columns.begin; column < columns.end; ++column, sum += channels) {
    const int64_t across = intersect(square(column, shape().columns), region.x).length();
    for (int64_t c = 0; c < channels; ++c) sum[c] /= static_cast<float>(lines.length() * across);
  }
  quantise(sums_.data(), columns.length() * channels, bytes_.data());
  if (channels == 1) {
    // Expand from the end, so that no gray value is overwritten before it is read.
    for (int64_t i = columns.length(); i-- > 0;) {
      std::memset(bytes_.data() + i * kBytesPerPixel, bytes_[static_cast<size_t>(i)], kBytesPerPixel);
    }
  }
  const int64_t bytes = columns.length() * kBytesPerPixel;
  const int64_t offset = pixels_begin_ + (row * columns_ + columns.begin) * kBytesPerPixel;
  if (write_fully(descriptor_->number(), offset, bytes_.data(), bytes) == 0) return;
  // A failed preview must not fail the decode. Stop updating it.
  descriptor_.reset();
}

void PreviewSink::complete() {
  next_.finish();
  on_signal_.reset();
}

}  // namespace headroom
