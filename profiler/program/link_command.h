#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace headroom::profiler {

/// headroom-profile link: measures the link between ranks, for headroom-plan --link. Each rank runs it and
/// rank 0 prints. `args` are the arguments after "link". Throws InputError or DeviceError.
int run_link(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);

}  // namespace headroom::profiler
