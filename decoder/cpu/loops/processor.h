#pragma once

#include <string>

namespace headroom {

/// The operating system's name for the processor, or "CPU" if it has none.
std::string processor_name();

}  // namespace headroom
