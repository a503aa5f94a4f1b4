#include "decoder/files/png_sink.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "decoder/graph/errors.h"

namespace headroom {
namespace {

const PictureShape& require_one_picture(const PictureShape& shape, const std::filesystem::path& path) {
  if (shape.frames != 1) {
    throw InputError(path.string() + ": expected .y4m, .npy, .safetensors or a folder (" +
                     path.stem().string() + "/) for more than one frame");
  }
  return require_eight_bit_shape(shape, path);
}

}  // namespace

PngSink::PngSink(const std::filesystem::path& path, const PictureShape& shape)
    : PictureSink(require_one_picture(shape, path)), path_(path), items_(static_cast<size_t>(shape.items)) {
  open(0);  // a folder that cannot be written to is found before the decode
}

int64_t PngSink::buffered_bytes(const PictureShape& shape, int64_t band_rows) {
  const int64_t rows =
      std::max(std::min(band_rows, shape.rows), PngWriter::rows_at_a_time(shape.columns, shape.channels));
  return rows * shape.columns * shape.channels + PngWriter::buffered_bytes(shape.columns, shape.channels);
}

PngSink::Item& PngSink::open(int64_t item) {
  Item& opened = items_[static_cast<size_t>(item)];
  if (!opened.writer) {
    opened.file.emplace(path_of_item(path_, item, shape().items));
    opened.writer.emplace(opened.file->contents(), shape().columns, shape().rows, shape().channels);
  }
  return opened;
}

void PngSink::take(int64_t item, const Region& region, const EightBitPixels& pixels) {
  Item& target = open(item);
  const bool collecting = target.band.length() > 0;
  if (region.y.begin != target.next_row || (collecting && region.y != target.band)) {
    throw std::logic_error("PngSink: regions must come in bands of the same rows, from top to bottom");
  }
  if (region.x.length() == shape().columns) return write_straight(target, region, pixels);
  collect(target, region, pixels);
}

void PngSink::write_straight(Item& item, const Region& region, const EightBitPixels& pixels) {
  if (item.band.length() > 0) throw std::logic_error("PngSink: positions come twice");
  const int64_t row_values = shape().columns * shape().channels;
  const int64_t step =
      std::min(PngWriter::rows_at_a_time(shape().columns, shape().channels), region.y.length());
  std::vector<uint8_t> bytes(static_cast<size_t>(step * row_values));
  for (int64_t row = 0; row < region.y.length(); row += step) {
    const int64_t rows = std::min(step, region.y.length() - row);
    pixels.take(row * row_values, rows * row_values, bytes.data());
    item.writer->write_rows(bytes.data(), rows);
  }
  item.next_row = region.y.end;
}

void PngSink::collect(Item& item, const Region& region, const EightBitPixels& pixels) {
  const int64_t row_values = shape().columns * shape().channels;
  const int64_t part_values = region.x.length() * shape().channels;
  if (item.band.length() == 0) {
    item.band = region.y;
    item.pixels.resize(static_cast<size_t>(item.band.length() * row_values));
  }
  int64_t filled = region.x.length();
  for (const Interval& columns : item.filled) {
    if (intersect(columns, region.x).length() > 0) throw std::logic_error("PngSink: positions come twice");
    filled += columns.length();
  }
  item.filled.push_back(region.x);
  uint8_t* corner = item.pixels.data() + region.x.begin * shape().channels;
  for (int64_t row = 0; row < region.y.length(); ++row) {
    pixels.take(row * part_values, part_values, corner + row * row_values);
  }
  if (filled < shape().columns) return;
  item.writer->write_rows(item.pixels.data(), item.band.length());
  item.next_row = item.band.end;
  item.band = {};
  item.filled.clear();
  // The buffer is freed, not kept: between bands, and after the last, other items may hold theirs.
  std::vector<uint8_t>().swap(item.pixels);
}

void PngSink::complete() {
  for (Item& item : items_) item.file->commit();
}

}  // namespace headroom
