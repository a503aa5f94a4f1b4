#include "decoder/files/file_sinks.h"

#include <algorithm>
#include <string>

#include "decoder/files/picture_sink.h"
#include "decoder/files/png_writer.h"

namespace headroom {
namespace {

constexpr size_t kLeastDigits = 5;
constexpr EightBitFormat kFolderFormat{"a folder of PNG", true};

int64_t rows_of_frame(const PictureShape& shape) {
  return std::min(shape.rows, rows_at_a_time(shape.columns, shape.channels));
}

int64_t row_bytes(const PictureShape& shape) {
  return shape.columns * shape.channels;
}

}  // namespace

FrameFolderSink::FrameFolderSink(const std::filesystem::path& folder, const PictureShape& shape)
    : EightBitSink(require_eight_bit_shape(shape, folder, kFolderFormat)),
      folder_(folder, PartialFile::Kind::folder),
      digits_(std::max(kLeastDigits, std::to_string(shape.frames - 1).size())),
      frame_bytes_(shape.rows * row_bytes(shape)),
      encoded_(static_cast<size_t>(shape.items * shape.frames)),
      pixels_(static_cast<size_t>(rows_of_frame(shape) * row_bytes(shape))) {
  if (shape.items == 1) return;
  for (int64_t item = 0; item < shape.items; ++item) folder_.make_folder(std::to_string(item));
}

void FrameFolderSink::check(const std::filesystem::path& folder, const PictureShape& shape) {
  require_eight_bit_shape(shape, folder, kFolderFormat);
}

int64_t FrameFolderSink::buffered_bytes(const PictureShape& shape) {
  return rows_of_frame(shape) * row_bytes(shape) + shape.items * shape.frames / 8 +
         PngWriter::buffered_bytes(shape.columns, shape.channels);
}

std::filesystem::path FrameFolderSink::path_inside(int64_t item, int64_t frame) const {
  const std::string number = std::to_string(frame);
  const std::string name = std::string(digits_ - number.size(), '0') + number + ".png";
  return shape().items == 1 ? std::filesystem::path(name)
                            : std::filesystem::path(std::to_string(item)) / name;
}

template <typename Fill>
void FrameFolderSink::encode(int64_t item, int64_t frame, const Fill& fill) {
  const std::filesystem::path inside = path_inside(item, frame);
  WrittenFile file(folder_.partial() / inside, folder_.name() / inside);
  PngWriter writer(file, shape().columns, shape().rows, shape().channels);
  const int64_t step = rows_of_frame(shape());
  for (int64_t row = 0; row < shape().rows; row += step) {
    const int64_t rows = std::min(step, shape().rows - row);
    fill(row * shape().columns, rows * shape().columns);
    writer.write_rows(pixels_.data(), rows);
  }
  file.close();
  encoded_[static_cast<size_t>(item * shape().frames + frame)] = true;
}

void FrameFolderSink::take(int64_t item, const Region& region, const EightBitPixels& pixels) {
  if (region.y.length() < shape().rows || region.x.length() < shape().columns) {
    return keep(item, region, pixels);
  }
  const int64_t channels = shape().channels;
  for (int64_t frame = region.t.begin; frame < region.t.end; ++frame) {
    const EightBitPixels of_frame = pixels.from((frame - region.t.begin) * frame_bytes_);
    encode(item, frame, [&](int64_t first, int64_t count) {
      of_frame.take(first * channels, count * channels, pixels_.data());
    });
  }
}

void FrameFolderSink::keep(int64_t item, const Region& region, const EightBitPixels& pixels) {
  if (!waiting_) {
    waiting_.emplace(waiting_path(), folder_.name());
    waiting_->reserve(shape().items * shape().frames * frame_bytes_);
  }
  const int64_t channels = shape().channels;
  const int64_t frame_values = region.y.length() * region.x.length() * channels;
  const auto most = static_cast<int64_t>(pixels_.size()) / channels;
  for (int64_t frame = region.t.begin; frame < region.t.end; ++frame) {
    const EightBitPixels of_frame = pixels.from((frame - region.t.begin) * frame_values);
    const int64_t begin = (item * shape().frames + frame) * frame_bytes_;
    for_each_run(region, shape().columns, most, [&](const Run& run) {
      of_frame.take(run.source * channels, run.count * channels, pixels_.data());
      waiting_->write_at(begin + run.target * channels, pixels_.data(), run.count * channels);
    });
  }
}

void FrameFolderSink::complete() {
  const int64_t channels = shape().channels;
  for (int64_t item = 0; item < shape().items; ++item) {
    for (int64_t frame = 0; frame < shape().frames; ++frame) {
      const int64_t number = item * shape().frames + frame;
      if (encoded_[static_cast<size_t>(number)]) continue;
      encode(item, frame, [&](int64_t first, int64_t count) {
        waiting_->read_at(number * frame_bytes_ + first * channels, pixels_.data(), count * channels);
      });
    }
  }
  if (waiting_) waiting_->close_and_remove(waiting_path());
  folder_.commit();
}

}  // namespace headroom
