#pragma once

#include <string>

namespace headroom {

/// The processor as the operating system names it; "CPU" where it does not.
std::string processor_name();

}  // namespace headroom
