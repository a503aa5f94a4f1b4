#pragma once

#include <netdb.h>

#include <memory>
#include <string>

namespace headroom {

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

/// Resolves the host of rank 0. `type` is SOCK_STREAM or SOCK_DGRAM. Throws ExchangeError if there is no
/// such host.
Addresses addresses_of(const std::string& host, const std::string& port, int type);

}  // namespace headroom
