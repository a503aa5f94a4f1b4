#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace headroom {

/// headroom-decode encode: makes latents of pictures. `args` exclude the command's name. Returns the exit
/// code.
int run_encode(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);

}  // namespace headroom
