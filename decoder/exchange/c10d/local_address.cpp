#include "decoder/exchange/c10d/local_address.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "decoder/exchange/c10d/addresses.h"
#include "decoder/exchange/exchange.h"

namespace headroom {
namespace {

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

}  // namespace

std::string local_address_towards(const std::string& host) {
  // Any port works, but one is required.
  const Addresses all = addresses_of(host, "9", SOCK_DGRAM);
  for (const addrinfo* at = all.get(); at != nullptr; at = at->ai_next) {
    const std::string address = address_of_socket_to(*at);
    if (!address.empty()) return address;
  }
  throw ExchangeError("no network leads to the machine of rank 0, " + host + ": " + std::strerror(errno));
}

}  // namespace headroom
