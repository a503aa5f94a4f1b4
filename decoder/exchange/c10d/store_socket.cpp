#include "decoder/exchange/c10d/store_socket.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "decoder/exchange/exchange.h"

namespace headroom {

int socket_bound_to(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0)
    throw ExchangeError("cannot find the machine of rank 0, " + host + ": " + gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> all(found, freeaddrinfo);
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    const int bound = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bound < 0) continue;
    const int yes = 1;
    setsockopt(bound, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(bound, at->ai_addr, at->ai_addrlen) == 0) return bound;
    const int reason = errno;
    close(bound);
    if (reason == EADDRINUSE) throw ExchangeError(std::strerror(reason));
  }
  return -1;
}

}  // namespace headroom
