#include "decoder/exchange/exchange.h"

#include <numeric>

namespace headroom {

int64_t bytes_of(const Message& message) {
  return std::accumulate(message.spans.begin(), message.spans.end(), int64_t{0},
                         [](int64_t sum, const Span& span) { return sum + span.bytes; });
}

}  // namespace headroom
