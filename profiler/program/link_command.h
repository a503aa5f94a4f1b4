#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace headroom::profiler {

/// headroom-profile link: what messages between ranks take, for headroom-plan --link. Each rank runs it; rank
/// 0 prints. `args` are those behind "link". Throws InputError, DeviceError.
int run_link(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);

}  // namespace headroom::profiler
