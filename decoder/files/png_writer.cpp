#include "decoder/files/png_writer.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "decoder/base/os/processors.h"
#include "decoder/files/picture_sink.h"

namespace headroom {
namespace {

constexpr int kMostThreads = 8;
/// Bound on row bytes times threads. Longer rows get fewer threads, which bounds the memory of all strips.
constexpr int64_t kRowBytesOfAllThreads = int64_t{1} << 20;

/// Number of threads that the picture's strips keep busy, within the memory bound.
int useful_threads_for(int64_t row_bytes, int64_t strips, int most) {
  const int64_t within_memory = kRowBytesOfAllThreads / row_bytes;
  return static_cast<int>(std::max<int64_t>(1, std::min({int64_t{most}, strips, within_memory})));
}

std::vector<uint8_t> head_of_file(int64_t columns, int64_t rows, int64_t channels) {
  constexpr std::array<uint8_t, 8> kSignature{0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
  constexpr uint8_t kGray = 0, kRgb = 2, kRgba = 6;
  // zlib's header: deflate, 32 KiB window, fast compression.
  constexpr std::array<uint8_t, 2> kZlibHeader{0x78, 0x5E};
  std::vector<uint8_t> size;
  append_png_number(size, static_cast<uint32_t>(columns));
  append_png_number(size, static_cast<uint32_t>(rows));
  const uint8_t colours = channels == 1 ? kGray : channels == kRgbaChannels ? kRgba : kRgb;
  for (const uint8_t byte : {uint8_t{8}, colours, uint8_t{0}, uint8_t{0}, uint8_t{0}})
    size.push_back(byte);  // bit depth, colour type; then compression, filter and interlace method
  std::vector<uint8_t> head(kSignature.begin(), kSignature.end());
  append_png_chunk(head, "IHDR", size);
  append_png_chunk(head, "IDAT", kZlibHeader);
  return head;
}

}  // namespace

PngWriter::PngWriter(WrittenFile& file, int64_t columns, int64_t rows, int64_t channels, int most_threads)
    : file_(file),
      row_bytes_(columns * channels),
      rows_of_strip_(std::min(rows, rows_at_a_time(columns, channels))),
      rows_left_(rows),
      above_(static_cast<size_t>(row_bytes_)) {
  const int64_t strips = (rows + rows_of_strip_ - 1) / rows_of_strip_;
  strips_.emplace(columns, channels, rows_of_strip_, useful_threads_for(row_bytes_, strips, most_threads));
  append(head_of_file(columns, rows, channels));
}

int PngWriter::most_threads() {
  return std::min(kMostThreads, helper_threads());
}

void PngWriter::write_rows(const uint8_t* pixels, int64_t rows) {
  if (!strips_ || rows > rows_left_) throw std::logic_error("PngWriter: more rows than the picture has");
  while (rows > 0) {
    while (strips_->is_full()) take_strip();
    PngStrip& strip = strips_->open();
    if (filled_rows_ == 0) std::copy(above_.begin(), above_.end(), strip.pixels.begin());
    uint8_t* const own = strip.pixels.data() + std::ssize(above_);
    const int64_t count = std::min(rows, rows_of_strip_ - filled_rows_);
    std::copy_n(pixels, count * row_bytes_, own + filled_rows_ * row_bytes_);
    pixels += count * row_bytes_;
    rows -= count;
    rows_left_ -= count;
    filled_rows_ += count;
    if (filled_rows_ < rows_of_strip_ && rows_left_ > 0) return;
    strip.rows_above = std::ssize(above_) / row_bytes_;
    strip.rows = filled_rows_;
    strip.last = rows_left_ == 0;
    const uint8_t* const end = own + filled_rows_ * row_bytes_;
    above_.assign(end - std::min(filled_rows_, png_rows_above(row_bytes_)) * row_bytes_, end);
    filled_rows_ = 0;
    strips_->close();
    while (!strips_->empty() && strips_->is_ready()) take_strip();
  }
  if (rows_left_ == 0) end();
}

void PngWriter::take_strip() {
  const PngStrip& strip = strips_->take();
  append(strip.chunks);
  checksum_ = static_cast<uint32_t>(
      adler32_combine(checksum_, strip.checksum, static_cast<z_off_t>(strip.filtered_bytes)));
}

void PngWriter::end() {
  while (!strips_->empty()) take_strip();
  std::vector<uint8_t> checksum, chunks;
  append_png_number(checksum, checksum_);
  append_png_chunk(chunks, "IDAT", checksum);
  append_png_chunk(chunks, "IEND", {});
  append(chunks);
  strips_.reset();
}

void PngWriter::append(const std::vector<uint8_t>& bytes) {
  if (const int error = file_.append(bytes.data(), std::ssize(bytes)); error != 0) file_.fail(error);
}

int64_t PngWriter::buffered_bytes(int64_t columns, int64_t channels) {
  const int64_t row_bytes = columns * channels;
  const int threads = useful_threads_for(row_bytes, kMostThreads, most_threads());
  return png_rows_above(row_bytes) * row_bytes +
         PngStrips::held_bytes(row_bytes, rows_at_a_time(columns, channels), threads);
}

}  // namespace headroom
