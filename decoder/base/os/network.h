#pragma once

#include <cstdint>
#include <string>

// Addresses by which the ranks of one decode meet. `host` is the machine of rank 0.
namespace headroom {

/// Returns this machine's numeric address on the route to `host`. Throws DeviceError if there is no such host
/// or no route to it.
std::string local_address_towards(const std::string& host);

/// Returns a TCP socket bound only to this address of this machine. The caller closes it. Returns -1 if the
/// address belongs to another machine, as with NAT, or if `host` is a name that resolves to loopback here.
/// Throws DeviceError if there is no such host or the port is taken.
int socket_bound_to(const std::string& host, uint16_t port);

}  // namespace headroom
