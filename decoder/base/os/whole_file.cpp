#include "decoder/base/os/whole_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <fstream>
#include <streambuf>

#include "decoder/base/errors.h"
#include "decoder/base/os/open_file.h"
#include "decoder/base/os/partial_file.h"
#include "decoder/base/os/system_failure.h"

namespace headroom {
namespace {

/// Buffers small writes and appends them in large ones.
class AppendingBuffer : public std::streambuf {
 public:
  explicit AppendingBuffer(WrittenFile& file) : file_(file) { start(); }
  /// errno of the failed write; 0 if none failed.
  int error() const { return error_; }

 protected:
  int_type overflow(int_type symbol) override {
    if (sync() != 0) return traits_type::eof();
    if (symbol != traits_type::eof()) return sputc(traits_type::to_char_type(symbol));
    return traits_type::not_eof(symbol);
  }
  int sync() override {
    if (error_ == 0) error_ = file_.append(pbase(), pptr() - pbase());
    start();
    return error_ == 0 ? 0 : -1;
  }

 private:
  void start() { setp(held_.data(), held_.data() + held_.size()); }
  WrittenFile& file_;
  int error_ = 0;
  std::array<char, 64 * 1024> held_;
};

}  // namespace

std::string read_text_file(const std::filesystem::path& file, int64_t most_bytes) {
  if (!is_file_at(file)) throw InputError(file.string() + ": no such file");
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  if (error) fail_by_errno(file.string(), error.value());
  if (static_cast<int64_t>(size) > most_bytes) {
    throw InputError(file.string() + ": larger than the " + std::to_string(most_bytes) +
                     " bytes such a file may have");
  }
  std::string text(size, '\0');
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in.read(text.data(), static_cast<std::streamsize>(size))) {
    if (errno == 0) throw InputError(file.string() + ": became shorter while it was read");
    fail_by_errno(file.string() + ": cannot be read", errno);
  }
  return text;
}

void write_file_whole(const std::filesystem::path& file, const std::string& text) {
  write_file_whole(
      file, [&](std::ostream& out) { out.write(text.data(), static_cast<std::streamsize>(text.size())); });
}

void write_file_whole(const std::filesystem::path& file, const std::function<void(std::ostream&)>& write) {
  PartialFile whole(file);
  AppendingBuffer buffer(whole.contents());
  std::ostream out(&buffer);
  write(out);
  out.flush();
  if (buffer.error() != 0) whole.contents().fail(buffer.error());
  whole.commit();
}

std::optional<std::string> text_of_system_file(const std::filesystem::path& file) {
  const Descriptor opened(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (opened.number() < 0) {
    if (is_system_failure(errno)) fail_by_errno(file.string(), errno);
    return std::nullopt;
  }
  std::string text;
  std::array<char, 4096> part;
  for (;;) {
    const ssize_t bytes = read(opened.number(), part.data(), part.size());
    if (bytes == 0) return text;
    if (bytes > 0) {
      text.append(part.data(), static_cast<size_t>(bytes));
    } else if (is_system_failure(errno)) {
      fail_by_errno(file.string(), errno);
    } else if (errno != EINTR) {
      return std::nullopt;
    }
  }
}

}  // namespace headroom
