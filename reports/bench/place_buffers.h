#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace headroom::reports {

/// Places buffers within a capacity. Reads them from a file in the format of MiniMalloc's benchmark
/// (`id,lower,upper,size`). Prints the bytes used and the seconds taken. Returns the exit code.
int place_buffer_file(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);

}  // namespace headroom::reports
