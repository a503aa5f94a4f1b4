#include "decoder/files/file_sinks.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "decoder/base/errors.h"
#include "decoder/base/os/open_file.h"
#include "decoder/files/png_writer.h"
#include "decoder/files/row_writer.h"

namespace headroom {
namespace {

EightBitFormat described(RowFormat format) {
  if (format == RowFormat::jpeg) return {"JPEG", false};
  return {format == RowFormat::png ? "PNG" : "WebP", true};
}

const PictureShape& require_one_picture(const PictureShape& shape, const std::filesystem::path& path,
                                        RowFormat format) {
  if (shape.frames != 1) {
    const char* clips = shape.channels == kRgbaChannels ? "" : ".y4m, ";  // .y4m has no alpha
    throw InputError(path.string() + ": expected " + clips + ".npy, .safetensors or a folder (" +
                     path.stem().string() + "/) for more than one frame");
  }
  return require_eight_bit_shape(shape, path, described(format));
}

void require_size(const PictureShape& shape, const std::filesystem::path& path, RowFormat format) {
  if (format == RowFormat::webp && !WebpWriter::is_built())
    throw InputError(path.string() + ": this build has no libwebp; write .png or .jpg");
  if (format == RowFormat::png) return;
  const int64_t most =
      format == RowFormat::jpeg ? JpegWriter::kMostRowsOrColumns : WebpWriter::kMostRowsOrColumns;
  if (std::max(shape.rows, shape.columns) <= most) return;
  throw InputError(path.string() + ": the format takes at most " + std::to_string(most) +
                   " rows and columns, found " + std::to_string(shape.columns) + "x" +
                   std::to_string(shape.rows) + ": write .png");
}

}  // namespace

void RowSink::check(const std::filesystem::path& path, const PictureShape& shape, RowFormat format) {
  require_one_picture(shape, path, format);
  require_size(shape, path, format);
}

RowSink::RowSink(const std::filesystem::path& path, const PictureShape& shape, RowFormat format, int quality)
    : EightBitSink(require_one_picture(shape, path, format)),
      path_(path),
      format_(format),
      quality_(quality),
      items_(static_cast<size_t>(shape.items)) {
  require_size(shape, path, format);
  open(0);  // finds an unwritable folder before the decode
}

int64_t RowSink::buffered_bytes(const PictureShape& shape, RowFormat format) {
  const int64_t rows = rows_at_a_time(shape.columns, shape.channels);
  const int64_t collected = rows * shape.columns * shape.channels;
  switch (format) {
    case RowFormat::png:
      return collected + PngWriter::buffered_bytes(shape.columns, shape.channels);
    case RowFormat::jpeg:
      return collected + JpegWriter::buffered_bytes(shape.columns, shape.channels);
    case RowFormat::webp:
      break;
  }
  return std::max(collected, WebpWriter::encoder_bytes(shape.columns, shape.rows, shape.channels));
}

RowSink::Item& RowSink::open(int64_t item) {
  Item& opened = items_[static_cast<size_t>(item)];
  if (opened.writer) return opened;
  opened.file.emplace(path_of_item(path_, item, shape().items));
  WrittenFile& file = opened.file->contents();
  const int64_t columns = shape().columns, rows = shape().rows, channels = shape().channels;
  switch (format_) {
    case RowFormat::png:
      opened.writer = std::make_unique<PngWriter>(file, columns, rows, channels);
      break;
    case RowFormat::jpeg:
      opened.writer = std::make_unique<JpegWriter>(file, columns, rows, channels, quality_);
      break;
    case RowFormat::webp:
      opened.writer = std::make_unique<WebpWriter>(file, columns, rows, channels, quality_);
      break;
  }
  return opened;
}

void RowSink::take(int64_t item, const Region& region, const EightBitPixels& pixels) {
  Item& target = open(item);
  const int64_t below = target.next_row + std::ssize(target.filled);
  if (region.y.begin < target.next_row || region.y.begin > below)
    throw std::logic_error("RowSink: regions must come from top to bottom");
  if (target.filled.empty() && region.x.length() == shape().columns)
    return write_straight(target, region, pixels);
  collect(target, region, pixels);
}

void RowSink::write_straight(Item& item, const Region& region, const EightBitPixels& pixels) {
  const int64_t row_values = shape().columns * shape().channels;
  const int64_t step = std::min(rows_at_a_time(shape().columns, shape().channels), region.y.length());
  std::vector<uint8_t> bytes(static_cast<size_t>(step * row_values));
  for (int64_t row = 0; row < region.y.length(); row += step) {
    const int64_t rows = std::min(step, region.y.length() - row);
    pixels.take(row * row_values, rows * row_values, bytes.data());
    item.writer->write_rows(bytes.data(), rows);
  }
  item.next_row = region.y.end;
}

void RowSink::require_new(const Item& item, const Region& region) {
  const int64_t end = std::min(region.y.end, item.next_row + std::ssize(item.filled));
  for (int64_t y = region.y.begin; y < end; ++y) {
    for (const Interval& columns : item.filled[static_cast<size_t>(y - item.next_row)]) {
      if (intersect(columns, region.x).length() > 0) throw std::logic_error("RowSink: positions come twice");
    }
  }
}

void RowSink::collect(Item& item, const Region& region, const EightBitPixels& pixels) {
  require_new(item, region);
  if (!item.waiting) item.waiting.emplace(open_unnamed_beside(path_), path_);
  const int64_t channels = shape().channels, columns = shape().columns;
  const int64_t part_values = region.x.length() * channels;
  const auto rows = static_cast<size_t>(region.y.end - item.next_row);
  if (rows > item.filled.size()) item.filled.resize(rows);
  std::vector<uint8_t> part(static_cast<size_t>(part_values));
  for (int64_t y = region.y.begin; y < region.y.end; ++y) {
    item.filled[static_cast<size_t>(y - item.next_row)].push_back(region.x);
    pixels.take((y - region.y.begin) * part_values, part_values, part.data());
    item.waiting->write_at((y * columns + region.x.begin) * channels, part.data(), part_values);
  }
  write_complete_rows(item);
}

void RowSink::write_complete_rows(Item& item) {
  const auto complete = [&](const std::vector<Interval>& filled) {
    int64_t columns = 0;
    for (const Interval& part : filled) columns += part.length();
    return columns == shape().columns;
  };
  const auto end = std::find_if_not(item.filled.begin(), item.filled.end(), complete);
  const int64_t end_row = item.next_row + (end - item.filled.begin());
  const int64_t row_values = shape().columns * shape().channels;
  const int64_t step = rows_at_a_time(shape().columns, shape().channels);
  std::vector<uint8_t> bytes(static_cast<size_t>(std::min(step, end_row - item.next_row) * row_values));
  item.filled.erase(item.filled.begin(), end);
  while (item.next_row < end_row) {
    const int64_t rows = std::min(step, end_row - item.next_row);
    item.waiting->read_at(item.next_row * row_values, bytes.data(), rows * row_values);
    item.writer->write_rows(bytes.data(), rows);
    item.next_row += rows;
  }
}

void RowSink::complete() {
  for (Item& item : items_) item.writer->finish();
  for (Item& item : items_) item.file->commit();
}

}  // namespace headroom
