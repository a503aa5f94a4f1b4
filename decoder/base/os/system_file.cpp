#include "decoder/base/os/system_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "decoder/base/os/descriptor.h"
#include "decoder/base/os/system_failure.h"

namespace headroom {
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
