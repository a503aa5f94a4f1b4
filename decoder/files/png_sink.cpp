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
  const int64_t below = target.next_row + std::ssize(target.filled);
  if (region.y.begin < target.next_row || region.y.begin > below)
    throw std::logic_error("PngSink: regions must come from top to bottom");
  if (target.filled.empty() && region.x.length() == shape().columns)
    return write_straight(target, region, pixels);
  collect(target, region, pixels);
}

void PngSink::write_straight(Item& item, const Region& region, const EightBitPixels& pixels) {
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

void PngSink::require_new(const Item& item, const Region& region) {
  const int64_t end = std::min(region.y.end, item.next_row + std::ssize(item.filled));
  for (int64_t y = region.y.begin; y < end; ++y) {
    for (const Interval& columns : item.filled[static_cast<size_t>(y - item.next_row)]) {
      if (intersect(columns, region.x).length() > 0) throw std::logic_error("PngSink: positions come twice");
    }
  }
}

void PngSink::collect(Item& item, const Region& region, const EightBitPixels& pixels) {
  require_new(item, region);
  const int64_t row_values = shape().columns * shape().channels;
  const int64_t part_values = region.x.length() * shape().channels;
  const auto rows = static_cast<size_t>(region.y.end - item.next_row);
  if (rows > item.filled.size()) {
    item.filled.resize(rows);
    item.pixels.reserve(rows * static_cast<size_t>(row_values));  // and no more than that
    item.pixels.resize(rows * static_cast<size_t>(row_values));
  }
  for (int64_t y = region.y.begin; y < region.y.end; ++y) {
    item.filled[static_cast<size_t>(y - item.next_row)].push_back(region.x);
    pixels.take((y - region.y.begin) * part_values, part_values,
                item.pixels.data() + (y - item.next_row) * row_values + region.x.begin * shape().channels);
  }
  write_complete_rows(item);
}

void PngSink::write_complete_rows(Item& item) {
  const auto complete = [&](const std::vector<Interval>& filled) {
    int64_t columns = 0;
    for (const Interval& part : filled) columns += part.length();
    return columns == shape().columns;
  };
  const auto end = std::find_if_not(item.filled.begin(), item.filled.end(), complete);
  const int64_t rows = end - item.filled.begin();
  if (rows == 0) return;
  item.writer->write_rows(item.pixels.data(), rows);
  item.next_row += rows;
  item.filled.erase(item.filled.begin(), end);
  item.pixels.erase(item.pixels.begin(), item.pixels.begin() + rows * shape().columns * shape().channels);
  // An empty buffer is freed, not kept: other items may hold theirs meanwhile.
  if (item.pixels.empty()) std::vector<uint8_t>().swap(item.pixels);
}

void PngSink::complete() {
  for (Item& item : items_) item.file->commit();
}

}  // namespace headroom
