#pragma once

#include <cstdint>
#include <string>

namespace headroom {

/// Returns a TCP socket bound only to this address of this machine. The caller closes it. Returns -1 if the
/// address belongs to another machine, as with NAT, or if `host` is a name that resolves to loopback here.
/// Throws ExchangeError if there is no such host or the port is taken.
int socket_bound_to(const std::string& host, uint16_t port);

}  // namespace headroom
