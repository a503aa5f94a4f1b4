#pragma once

#include <string>

namespace headroom {

/// The address of this machine, as a number, from which packets to that host would leave. Throws
/// ExchangeError where there is no such host or no way to it.
std::string local_address_towards(const std::string& host);

}  // namespace headroom
