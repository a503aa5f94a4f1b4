#include "decoder/files/json_text.h"

#include <algorithm>
#include <fstream>
#include <streambuf>
#include <string>
#include <vector>

#include "decoder/base/errors.h"
#include "decoder/base/os/open_file.h"
#include "decoder/base/os/system_failure.h"
#include "decoder/base/text.h"

namespace headroom {

std::unique_ptr<std::istream> open_json_text(const std::filesystem::path& file, int64_t most_bytes) {
  if (is_empty_at(file)) return std::make_unique<TextReader>("");
  if (const ReadOnlyFile opened(file); opened.bytes() > most_bytes) {
    throw InputError(file.string() + ": expected at most " + std::to_string(most_bytes >> 20) +
                     " MiB, found " + std::to_string(opened.bytes()) + " bytes");
  }
  return with_short_tokens(std::make_unique<std::ifstream>(file, std::ios::binary), file.string());
}

namespace {

constexpr int64_t kMostTokenBytes = 1 << 20;
constexpr std::streamsize kPartBytes = 64 << 10;

class ShortTokensBuffer final : public std::streambuf {
 public:
  ShortTokensBuffer(std::streambuf& source, std::string origin)
      : source_(source), origin_(std::move(origin)), part_(static_cast<size_t>(kPartBytes)) {}

 protected:
  int_type underflow() override try {
    if (traits_type::eq_int_type(source_.sgetc(), traits_type::eof())) return traits_type::eof();
    const std::streamsize there = std::max<std::streamsize>(1, source_.in_avail());
    const std::streamsize bytes = source_.sgetn(part_.data(), std::min(there, kPartBytes));
    for (std::streamsize i = 0; i < bytes; ++i) count(part_[static_cast<size_t>(i)]);
    setg(part_.data(), part_.data(), part_.data() + bytes);
    return traits_type::to_int_type(part_.front());
  } catch (const std::ios_base::failure&) {
    throw DeviceError(origin_ + ": cannot be read");  // the stream's own message names no file
  }

 private:
  void count(char c) {
    ++at_;
    if (++token_bytes_ > kMostTokenBytes) {
      throw InputError(origin_ + ": expected JSON with strings of at most " +
                       std::to_string(kMostTokenBytes >> 20) + " MiB, found a longer one at byte " +
                       std::to_string(at_ - token_bytes_));
    }
    const bool digit = ('0' <= c && c <= '9') || c == '-';
    if (in_string_) {
      in_string_ = escaped_ || c != '"';
      escaped_ = !escaped_ && c == '\\';
      if (!in_string_) token_bytes_ = 0;
    } else if (c == '"' || (digit && !in_number_)) {
      in_string_ = c == '"';
      token_bytes_ = 0;
    }
    in_number_ = !in_string_ && (digit || (in_number_ && (c == '.' || c == '+' || c == 'e' || c == 'E')));
  }

  std::streambuf& source_;
  std::string origin_;
  std::vector<char> part_;
  int64_t at_ = 0, token_bytes_ = 0;
  bool in_string_ = false, escaped_ = false, in_number_ = false;
};

class ShortTokensStream final : public std::istream {
 public:
  ShortTokensStream(std::unique_ptr<std::istream> text, const std::string& origin)
      : std::istream(nullptr), text_(std::move(text)), buffer_(*text_->rdbuf(), origin) {
    rdbuf(&buffer_);
  }

 private:
  std::unique_ptr<std::istream> text_;
  ShortTokensBuffer buffer_;
};

}  // namespace

std::unique_ptr<std::istream> with_short_tokens(std::unique_ptr<std::istream> text,
                                                const std::string& origin) {
  return std::make_unique<ShortTokensStream>(std::move(text), origin);
}

}  // namespace headroom
