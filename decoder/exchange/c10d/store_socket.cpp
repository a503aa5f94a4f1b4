#include "decoder/exchange/c10d/store_socket.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "decoder/exchange/c10d/addresses.h"
#include "decoder/exchange/exchange.h"

namespace headroom {
namespace {

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
    if (reason != EADDRNOTAVAIL) throw ExchangeError(std::strerror(reason));
  }
  return -1;
}

}  // namespace headroom
