#include "decoder/files/gzip_text.h"

#include <zlib.h>

#include <algorithm>
#include <fstream>
#include <streambuf>
#include <string>
#include <vector>

#include "decoder/files/read_only_file.h"
#include "decoder/files/short_tokens.h"
#include "decoder/files/start_of_file.h"
#include "decoder/graph/errors.h"
#include "decoder/graph/system_failure.h"
#include "decoder/graph/text_streams.h"

namespace headroom {
namespace {

constexpr size_t kPartBytes = 64 << 10;
constexpr int kGzipAlone = 16 + MAX_WBITS;  // zlib's way to ask for gzip's header and checksum

/// Unpacks a gzip file part by part; one of several members is their texts one after another.
class GzipBuffer final : public std::streambuf {
 public:
  GzipBuffer(const std::filesystem::path& file, const UnpackedBounds& bounds)
      : file_(file), bounds_(bounds), packed_(kPartBytes), text_(kPartBytes) {
    if (inflateInit2(&stream_, kGzipAlone) != Z_OK) throw std::bad_alloc();
  }
  ~GzipBuffer() override { inflateEnd(&stream_); }
  GzipBuffer(const GzipBuffer&) = delete;
  GzipBuffer& operator=(const GzipBuffer&) = delete;

 protected:
  int_type underflow() override {
    while (!ended_) {
      const size_t unpacked = unpack();
      if (unpacked == 0) continue;
      setg(text_.data(), text_.data(), text_.data() + unpacked);
      return traits_type::to_int_type(text_.front());
    }
    return traits_type::eof();
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { throw InputError(file_.origin() + ": " + what); }

  /// Some bytes more, or none.
  size_t unpack() {
    if (stream_.avail_in == 0) read_packed();
    stream_.next_out = reinterpret_cast<Bytef*>(text_.data());
    stream_.avail_out = static_cast<uInt>(text_.size());
    const int result = inflate(&stream_, Z_NO_FLUSH);
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
      refuse("this gzip file is damaged at byte " + std::to_string(packed_at()));
    const size_t unpacked = text_.size() - stream_.avail_out;
    unpacked_bytes_ += static_cast<int64_t>(unpacked);
    check_bounds();
    if (result == Z_STREAM_END) end_member();
    return unpacked;
  }

  void read_packed() {
    const int64_t left = file_.bytes() - read_bytes_;
    if (left == 0) refuse("this gzip file is cut off at byte " + std::to_string(read_bytes_));
    const int64_t bytes = std::min(left, static_cast<int64_t>(packed_.size()));
    file_.read_at(read_bytes_, packed_.data(), bytes);
    read_bytes_ += bytes;
    stream_.next_in = packed_.data();
    stream_.avail_in = static_cast<uInt>(bytes);
  }

  int64_t packed_at() const { return read_bytes_ - static_cast<int64_t>(stream_.avail_in); }

  void check_bounds() const {
    if (unpacked_bytes_ > bounds_.most_bytes)
      refuse("expected at most " + std::to_string(bounds_.most_bytes >> 20) +
             " MiB when unpacked, found more");
    if (unpacked_bytes_ > bounds_.always_bytes && unpacked_bytes_ / bounds_.most_ratio > file_.bytes())
      refuse("expected a text that gzip packs at most " + std::to_string(bounds_.most_ratio) +
             "-fold, found one that unpacks to more than " + std::to_string(unpacked_bytes_ >> 20) +
             " MiB: unpack it yourself if it is what it says");
  }

  void end_member() {
    if (packed_at() == file_.bytes()) {
      ended_ = true;
    } else if (inflateReset(&stream_) != Z_OK) {
      refuse("this gzip file is damaged at byte " + std::to_string(packed_at()));
    }
  }

  ReadOnlyFile file_;
  UnpackedBounds bounds_;
  std::vector<Bytef> packed_;
  std::vector<char> text_;
  z_stream stream_{};
  int64_t read_bytes_ = 0, unpacked_bytes_ = 0;
  bool ended_ = false;
};

class GzipStream final : public std::istream {
 public:
  GzipStream(const std::filesystem::path& file, const UnpackedBounds& bounds)
      : std::istream(nullptr), buffer_(file, bounds) {
    rdbuf(&buffer_);
  }

 private:
  GzipBuffer buffer_;
};

}  // namespace

bool is_gzip(const std::filesystem::path& file) {
  return start_of_file(file, 2) == "\x1f\x8b";
}

std::unique_ptr<std::istream> open_json_text(const std::filesystem::path& file,
                                             const UnpackedBounds& bounds) {
  if (is_empty_at(file)) return std::make_unique<TextReader>("");
  if (is_gzip(file)) return with_short_tokens(std::make_unique<GzipStream>(file, bounds), file.string());
  if (const ReadOnlyFile opened(file); opened.bytes() > bounds.most_bytes) {
    throw InputError(file.string() + ": expected at most " + std::to_string(bounds.most_bytes >> 20) +
                     " MiB, found " + std::to_string(opened.bytes()) + " bytes");
  }
  return with_short_tokens(std::make_unique<std::ifstream>(file, std::ios::binary), file.string());
}

}  // namespace headroom
