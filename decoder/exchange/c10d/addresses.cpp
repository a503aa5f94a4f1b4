#include "decoder/exchange/c10d/addresses.h"

#include "decoder/exchange/exchange.h"

namespace headroom {

Addresses addresses_of(const std::string& host, const std::string& port, int type) {
  addrinfo hints{};
  hints.ai_socktype = type;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (error != 0)
    throw ExchangeError("cannot find the machine of rank 0, " + host + ": " + gai_strerror(error));
  return {found, freeaddrinfo};
}

}  // namespace headroom
