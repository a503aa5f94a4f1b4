#pragma once

#include <netdb.h>

#include <memory>
#include <string>

namespace headroom {

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

/// Addresses of the machine of rank 0, a list; `type` is SOCK_STREAM or SOCK_DGRAM. Throws ExchangeError
/// where there is no such host.
Addresses addresses_of(const std::string& host, const std::string& port, int type);

}  // namespace headroom
