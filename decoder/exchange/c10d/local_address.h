#pragma once

#include <string>

namespace headroom {

/// Returns this machine's numeric address on the route to `host`. Throws ExchangeError if there is no such
/// host or no route to it.
std::string local_address_towards(const std::string& host);

}  // namespace headroom
