#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace headroom {

/// A program: its arguments without its name, results on `out`, messages on `err`; returns the exit code.
using Program = int (*)(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);

/// What main() does of every program but the window: it holds the standard streams, so that no file of its
/// own is taken for one that was closed; shows a terminal nothing that acts on it; leaves no partial file
/// where a signal ends it (left_behind.h); and takes a reader that went away for an error of its write.
int run_program(int argc, char** argv, Program program);

}  // namespace headroom
