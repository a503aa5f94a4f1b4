#include "decoder/base/os/terminal_width.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace headroom {

int terminal_width() {
  constexpr int kUnknown = 80, kLeast = 40, kMost = 400;
  const char* columns = std::getenv("COLUMNS");
  int width = columns == nullptr ? 0 : std::atoi(columns);
  winsize size{};
  if (width <= 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  return width <= 0 ? kUnknown : std::clamp(width, kLeast, kMost);
}

}  // namespace headroom
