#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace headroom {

/// Entry function of a program. `args` exclude the program's name. Results go to `out`, messages to `err`.
/// Returns the exit code.
using Program = int (*)(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);

/// Common main() of every program except the window:
/// - It occupies closed standard streams, so that no file of the program gets their descriptors.
/// - It escapes control characters when standard output is a terminal.
/// - It removes partial files when a signal ends the program (left_behind.h).
/// - It turns a closed pipe into a write error.
int run_program(int argc, char** argv, Program program);

}  // namespace headroom
