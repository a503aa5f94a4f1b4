#include "profiler/measure/link.h"

#include <algorithm>
#include <chrono>
#include <vector>

namespace headroom::profiler {
namespace {

constexpr int64_t kSmallBytes = 64;
constexpr int64_t kLargeBytes = int64_t{16} << 20;
constexpr int kRepeats = 9;

/// Exchanges messages of this size with both neighbours. Returns this rank's seconds from the barrier on.
double seconds_once(Exchange& exchange, std::vector<char>& sent, std::vector<char>& received, int64_t bytes) {
  std::vector<Message> sends, receives;
  char* to = received.data();
  for (const int32_t peer : {exchange.rank() - 1, exchange.rank() + 1}) {
    if (peer < 0 || peer >= exchange.size()) continue;
    sends.push_back({peer, {{sent.data(), bytes}}});
    receives.push_back({peer, {{to, bytes}}});
    to += bytes;
  }
  exchange.gather({0});  // a barrier
  const auto start = std::chrono::steady_clock::now();
  const Exchange::Posted posted = exchange.post(sends, receives);
  for (const Exchange::Ticket ticket : posted.sends) exchange.wait(ticket);
  for (const Exchange::Ticket ticket : posted.receives) exchange.wait(ticket);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Median time on the slowest rank.
double seconds_of(Exchange& exchange, int64_t bytes) {
  std::vector<char> sent(static_cast<size_t>(bytes), 1), received(static_cast<size_t>(2 * bytes));
  std::vector<double> seconds;
  seconds.reserve(kRepeats);
  seconds_once(exchange, sent, received, bytes);  // the first message opens connections
  for (int i = 0; i < kRepeats; ++i) seconds.push_back(seconds_once(exchange, sent, received, bytes));
  std::nth_element(seconds.begin(), seconds.begin() + kRepeats / 2, seconds.end());
  double slowest = 0;
  for (const std::vector<double>& of_rank : exchange.gather({seconds[kRepeats / 2]}))
    slowest = std::max(slowest, of_rank[0]);
  return slowest;
}

}  // namespace

Link measure_link(Exchange& exchange) {
  constexpr double kLeastSeconds = 1e-9;  // clock resolution
  const double small = seconds_of(exchange, kSmallBytes), large = seconds_of(exchange, kLargeBytes);
  return {double(kLargeBytes - kSmallBytes) / std::max(kLeastSeconds, large - small), small};
}

}  // namespace headroom::profiler
