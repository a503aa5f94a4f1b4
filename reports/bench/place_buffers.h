#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace headroom::reports {

/// Places the buffers of a file as MiniMalloc's benchmark has them (`id,lower,upper,size`) within a capacity
/// and prints the bytes that they take and the seconds that it took. Returns the exit code.
int place_buffer_file(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);

}  // namespace headroom::reports
