#include "decoder/base/os/standard_streams.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace headroom {

static_assert(kStandardOutput == STDOUT_FILENO && kStandardError == STDERR_FILENO);

bool is_terminal(int descriptor) {
  return isatty(descriptor) == 1;
}

int terminal_width() {
  constexpr int kUnknown = 80, kLeast = 40, kMost = 400;
  const char* columns = std::getenv("COLUMNS");
  int width = columns == nullptr ? 0 : std::atoi(columns);
  winsize size{};
  if (width <= 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  return width <= 0 ? kUnknown : std::clamp(width, kLeast, kMost);
}

bool has_room(int descriptor) {
  pollfd target{descriptor, POLLOUT, 0};
  return poll(&target, 1, 0) != 0;
}

bool reader_is_gone() {
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  return poll(&output, 1, 0) > 0 && (output.revents & POLLERR) != 0;
}

void hold_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    // open() returns the lowest free descriptor, which is this one.
    [[maybe_unused]] const int taken = open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

void ignore_closed_pipes() {
  if (const auto before = signal(SIGPIPE, SIG_IGN); before != SIG_DFL) signal(SIGPIPE, before);
}

void report_out_of_memory() noexcept {
  for (const char* text : {static_cast<const char*>(program_invocation_short_name), ": out of memory\n"}) {
    [[maybe_unused]] const ssize_t said = write(STDERR_FILENO, text, std::strlen(text));
  }
}

}  // namespace headroom
