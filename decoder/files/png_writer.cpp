#include "decoder/files/png_writer.h"

#include <algorithm>
#include <array>
#include <new>
#include <stdexcept>
#include <system_error>

#include "decoder/base/os/process.h"
#include "decoder/files/picture_sink.h"

namespace headroom {
namespace {

/// Two strips per thread: while the threads encode, the caller fills and writes others.
int64_t strips_at_a_time(int threads) {
  return threads > 1 ? 2 * int64_t{threads} : 1;
}

}  // namespace

PngStrips::PngStrips(int64_t columns, int64_t channels, int64_t rows_of_strip, int threads)
    : columns_(columns),
      channels_(channels),
      threads_(threads),
      ring_(static_cast<size_t>(strips_at_a_time(threads))),
      encoded_(ring_.size()) {
  const int64_t row_bytes = columns * channels;
  for (PngStrip& strip : ring_)
    strip.pixels.resize(static_cast<size_t>((png_rows_above(row_bytes) + rows_of_strip) * row_bytes));
  if (threads_ == 1) own_ = std::make_unique<PngStripEncoder>(columns, channels);
}

PngStrips::~PngStrips() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void PngStrips::close() {
  PngStrip& strip = open();
  ++closed_;
  if (own_) return own_->encode(strip);
  {
    const std::lock_guard lock(mutex_);
    encoded_[static_cast<size_t>(given_++ % std::ssize(ring_))] = false;
  }
  changed_.notify_all();
  if (std::ssize(workers_) == threads_) return;
  try {
    workers_.emplace_back([this] { run(); });
  } catch (const std::system_error&) {
    if (workers_.empty()) throw;  // continue with the threads that started
  }
}

bool PngStrips::is_ready() const {
  if (own_) return true;
  const std::lock_guard lock(mutex_);
  return failed_ || encoded_[static_cast<size_t>(taken_ % std::ssize(ring_))];
}

const PngStrip& PngStrips::take() {
  const int64_t number = taken_++;
  if (own_) return at(number);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return failed_ || encoded_[static_cast<size_t>(number % std::ssize(ring_))]; });
  if (failed_) std::rethrow_exception(failed_);
  return at(number);
}

void PngStrips::run() {
  std::unique_ptr<PngStripEncoder> encoder;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ends_ || begun_ < given_; });
    if (ends_) return;
    const int64_t number = begun_++;
    lock.unlock();
    std::exception_ptr failed;
    try {
      if (!encoder) encoder = std::make_unique<PngStripEncoder>(columns_, channels_);
      encoder->encode(at(number));
    } catch (...) {
      failed = std::current_exception();
    }
    lock.lock();
    if (failed) failed_ = failed;
    encoded_[static_cast<size_t>(number % std::ssize(ring_))] = true;
    changed_.notify_all();
  }
}

int64_t PngStrips::held_bytes(int64_t row_bytes, int64_t rows_of_strip, int threads) {
  const int64_t filtered = rows_of_strip * (1 + row_bytes);
  const int64_t of_strip = (png_rows_above(row_bytes) + rows_of_strip) * row_bytes + filtered + filtered / 64;
  return strips_at_a_time(threads) * of_strip +
         threads * PngStripEncoder::held_bytes(row_bytes, rows_of_strip);
}

namespace {

enum Filter : uint8_t { kSub = 1, kUp = 2 };

constexpr int kCompressionLevel = 3;  // faster than zlib's default of 6, because the decode waits for it
constexpr int kWindowBits = 15;
constexpr int64_t kWindowBytes = int64_t{1} << kWindowBits;
constexpr int kMemoryLevel = 8;
constexpr int64_t kDeflateBytes = 272 * 1024;  // zlib's memory for these settings, see zconf.h

/// Upper bound on deflate()'s output for `bytes` of input, including the flush.
int64_t most_deflated_bytes(int64_t bytes) {
  return bytes + bytes / 256 + 64;
}

void subtract(const uint8_t* __restrict from, const uint8_t* __restrict what, int64_t count,
              uint8_t* __restrict out) {
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<uint8_t>(from[i] - what[i]);
}

/// Sum of absolute values of the bytes as signed numbers: libpng's heuristic for choosing a filter. Each
/// block sums in 16 bits, so that the loop vectorises.
int64_t magnitude(const uint8_t* bytes, int64_t count) {
  constexpr int64_t kBlock = 256;
  int64_t sum = 0;
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    uint16_t of_block = 0;
    for (int64_t i = begin; i < std::min(count, begin + kBlock); ++i) {
      const auto negative = static_cast<uint8_t>(-bytes[i]);
      of_block = static_cast<uint16_t>(of_block + std::min(bytes[i], negative));
    }
    sum += of_block;
  }
  return sum;
}

}  // namespace

Deflater::Deflater(int strategy) {
  if (deflateInit2(&stream_, kCompressionLevel, Z_DEFLATED, -kWindowBits, kMemoryLevel, strategy) != Z_OK)
    throw std::bad_alloc();
}

size_t Deflater::compress(std::span<uint8_t> before, std::span<uint8_t> in, bool last,
                          std::span<uint8_t> out) {
  deflateReset(&stream_);
  const std::span<uint8_t> window = before.last(std::min(before.size(), size_t{kWindowBytes}));
  if (!window.empty()) deflateSetDictionary(&stream_, window.data(), static_cast<uInt>(window.size()));
  constexpr size_t kPart = size_t{1} << 30;  // zlib's counters have 32 bits
  size_t read = 0, written = 0;
  while (written < out.size()) {
    const size_t offered = std::min(kPart, in.size() - read), room = std::min(kPart, out.size() - written);
    stream_.next_in = in.data() + read;
    stream_.avail_in = static_cast<uInt>(offered);
    stream_.next_out = out.data() + written;
    stream_.avail_out = static_cast<uInt>(room);
    const bool at_end = read + offered == in.size();
    deflate(&stream_, !at_end ? Z_NO_FLUSH : last ? Z_FINISH : Z_SYNC_FLUSH);
    read += offered - stream_.avail_in;
    written += room - stream_.avail_out;
    if (at_end && stream_.avail_out > 0) return written;
  }
  return 0;
}

PngStripEncoder::PngStripEncoder(int64_t columns, int64_t channels)
    : row_bytes_(columns * channels),
      pixel_bytes_(channels),
      runs_(Z_RLE),
      row_(static_cast<size_t>(row_bytes_)) {}

void PngStripEncoder::encode(PngStrip& strip) {
  filter(strip, strip.rows_above, strip.rows, filtered_);
  strip.filtered_bytes = std::ssize(filtered_);
  strip.checksum = static_cast<uint32_t>(adler32_z(1, filtered_.data(), filtered_.size()));

  deflated_.resize(static_cast<size_t>(most_deflated_bytes(strip.filtered_bytes)));
  std::span<const uint8_t> best(deflated_.data(), runs_.compress({}, filtered_, strip.last, deflated_));
  // Decoded pictures are noisy. Searching for repeats beyond the previous byte takes three times as long and
  // finds almost nothing. Strips that shrink to less than a third are flat or drawn. Only they get that
  // search.
  if (best.size() < filtered_.size() / 3) {
    if (!repeats_) repeats_.emplace(Z_FILTERED);
    filter(strip, 1, strip.rows_above - 1, above_);
    other_.resize(best.size());
    const size_t bytes = repeats_->compress(above_, filtered_, strip.last, other_);
    if (bytes > 0) best = {other_.data(), bytes};
  }
  strip.chunks.clear();
  constexpr size_t kChunkBytes = size_t{1} << 30;  // PNG allows less than 2^31
  for (; !best.empty(); best = best.subspan(std::min(kChunkBytes, best.size())))
    append_png_chunk(strip.chunks, "IDAT", best.first(std::min(kChunkBytes, best.size())));
}

/// Each row is replaced by its differences to the left pixels or to the row above, whichever are smaller.
void PngStripEncoder::filter(const PngStrip& strip, int64_t first_row, int64_t rows,
                             std::vector<uint8_t>& filtered) {
  filtered.resize(static_cast<size_t>(rows * (1 + row_bytes_)));
  for (int64_t row = 0; row < rows; ++row) {
    const uint8_t* const pixels = strip.pixels.data() + (first_row + row) * row_bytes_;
    const uint8_t* const above = pixels - row_bytes_;
    uint8_t* const out = filtered.data() + row * (1 + row_bytes_);
    std::copy_n(pixels, pixel_bytes_, out + 1);
    subtract(pixels + pixel_bytes_, pixels, row_bytes_ - pixel_bytes_, out + 1 + pixel_bytes_);
    subtract(pixels, above, row_bytes_, row_.data());
    const bool up = magnitude(row_.data(), row_bytes_) < magnitude(out + 1, row_bytes_);
    out[0] = up ? kUp : kSub;
    if (up) std::copy_n(row_.data(), row_bytes_, out + 1);
  }
}

int64_t png_rows_above(int64_t row_bytes) {
  return 2 + kWindowBytes / (1 + row_bytes);
}

int64_t PngStripEncoder::held_bytes(int64_t row_bytes, int64_t rows) {
  const int64_t filtered = rows * (1 + row_bytes);
  return 2 * kDeflateBytes + kWindowBytes + 3 * row_bytes + filtered + most_deflated_bytes(filtered) +
         filtered / 3;
}

void append_png_number(std::vector<uint8_t>& out, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<uint8_t>(value >> shift));
}

void append_png_chunk(std::vector<uint8_t>& out, const char* type, std::span<const uint8_t> data) {
  append_png_number(out, static_cast<uint32_t>(data.size()));
  const size_t checked = out.size();
  out.insert(out.end(), type, type + 4);
  out.insert(out.end(), data.begin(), data.end());
  append_png_number(out, static_cast<uint32_t>(crc32_z(0, out.data() + checked, out.size() - checked)));
}

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
