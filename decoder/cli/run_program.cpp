#include "decoder/cli/run_program.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <iostream>

#include "decoder/cli/escaped_stream.h"
#include "decoder/outputs/left_behind.h"
#include "decoder/progress/progress.h"

namespace headroom {
namespace {

/// Puts something in the place of a standard stream that is closed: otherwise the next file that is opened
/// would have its number, and take what is printed. Open the wrong way round, so that what is printed is not
/// lost in silence.
void hold_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest number that is free is this one.
    [[maybe_unused]] const int taken = open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace

int run_program(int argc, char** argv, Program program) {
  hold_standard_streams();
  remove_files_on_signals();
  ignore_closed_pipes();
  const std::vector<std::string> args{argv + 1, argv + argc};
  if (isatty(STDOUT_FILENO) == 0) return program(args, std::cout, std::cerr);
  EscapedStream out(std::cout);
  return program(args, out, std::cerr);
}

}  // namespace headroom
