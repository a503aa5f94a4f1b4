#include "decoder/base/os/network.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "decoder/base/errors.h"

namespace headroom {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

/// Resolves the host of rank 0. `type` is SOCK_STREAM or SOCK_DGRAM.
Addresses addresses_of(const std::string& host, const std::string& port, int type) {
  addrinfo hints{};
  hints.ai_socktype = type;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (error != 0)
    throw DeviceError("cannot find the machine of rank 0, " + host + ": " + gai_strerror(error));
  return {found, freeaddrinfo};
}

/// Local address of a UDP socket connected to `there`. Connecting sends nothing. Empty if there is no route.
std::string address_of_socket_to(const addrinfo& there) {
  const int socket_to = socket(there.ai_family, SOCK_DGRAM, 0);
  if (socket_to < 0) return "";
  sockaddr_storage own{};
  socklen_t bytes = sizeof own;
  std::array<char, NI_MAXHOST> name{};
  const bool known = connect(socket_to, there.ai_addr, there.ai_addrlen) == 0 &&
                     getsockname(socket_to, reinterpret_cast<sockaddr*>(&own), &bytes) == 0 &&
                     getnameinfo(reinterpret_cast<sockaddr*>(&own), bytes, name.data(), name.size(), nullptr,
                                 0, NI_NUMERICHOST) == 0;
  close(socket_to);
  return known ? name.data() : "";
}

bool is_loopback(const sockaddr& address) {
  if (address.sa_family == AF_INET6)
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
  const uint32_t number = ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr);
  return address.sa_family == AF_INET && number >> 24 == 127;
}

/// True for a host name that resolves to loopback. Many machines do that for their own name, while others
/// resolve it to a reachable address.
bool may_mean_more(const std::string& host, const sockaddr& address) {
  const bool is_number = host.find_first_not_of("0123456789abcdefABCDEF.:") == std::string::npos;
  return is_loopback(address) && !is_number && host != "localhost";
}

}  // namespace

std::string local_address_towards(const std::string& host) {
  // Any port works, but one is required.
  const Addresses all = addresses_of(host, "9", SOCK_DGRAM);
  for (const addrinfo* at = all.get(); at != nullptr; at = at->ai_next) {
    std::string address = address_of_socket_to(*at);
    if (!address.empty()) return address;
  }
  throw DeviceError("no network leads to the machine of rank 0, " + host + ": " + std::strerror(errno));
}

int socket_bound_to(const std::string& host, uint16_t port) {
  const Addresses all = addresses_of(host, std::to_string(port), SOCK_STREAM);
  for (const addrinfo* at = all.get(); at != nullptr; at = at->ai_next) {
    if (may_mean_more(host, *at->ai_addr)) return -1;
    const int bound = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bound < 0) continue;
    const int yes = 1;
    setsockopt(bound, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(bound, at->ai_addr, at->ai_addrlen) == 0) return bound;
    const int reason = errno;
    close(bound);
    if (reason != EADDRNOTAVAIL) throw DeviceError(std::strerror(reason));
  }
  return -1;
}

}  // namespace headroom
