#include "decoder/session/watched_exchange.h"

#include <chrono>

namespace headroom {

/// A call that throws is not reported, since its error ends the decode.
template <typename Call>
auto WatchedExchange::watched(ExchangeCall kind, const Call& call) {
  const int64_t sent_before = exchange_.sent_bytes();
  const auto start = std::chrono::steady_clock::now();
  auto result = call();
  const std::chrono::duration<double> lasting = std::chrono::steady_clock::now() - start;
  const int64_t sent = exchange_.sent_bytes() - sent_before;
  count_sent(sent);
  events_.exchanged({kind, sent, lasting.count()});
  if (limit_ != nullptr) limit_->check();
  return result;
}

Exchange::Posted WatchedExchange::post(const std::vector<Message>& sends,
                                       const std::vector<Message>& receives) {
  return watched(ExchangeCall::post, [&] { return exchange_.post(sends, receives); });
}

void WatchedExchange::wait(Ticket ticket) {
  watched(ExchangeCall::wait, [&] {
    exchange_.wait(ticket);
    return 0;
  });
}

std::vector<std::vector<double>> WatchedExchange::gather(const std::vector<double>& own) {
  return watched(ExchangeCall::gather, [&] { return exchange_.gather(own); });
}

}  // namespace headroom
