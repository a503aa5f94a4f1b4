#include "decoder/base/os/whole_file.h"

#include <array>
#include <streambuf>

#include "decoder/base/os/partial_file.h"

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

}  // namespace headroom
