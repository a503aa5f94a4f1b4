#pragma once

#include <cstdint>
#include <string>

namespace headroom {

/// A socket of this machine that is bound to that address alone, for connections of TCP: a number, or -1
/// where the address is not one of this machine's, as behind a translation of addresses, or the host is a
/// name of this machine for itself alone. Whoever receives it closes it. Throws ExchangeError where there is
/// no such host, or the port is taken.
int socket_bound_to(const std::string& host, uint16_t port);

}  // namespace headroom
