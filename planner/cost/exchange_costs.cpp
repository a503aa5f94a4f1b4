#include "planner/cost/exchange_costs.h"

namespace headroom::planner {

double message_seconds(double bytes, const Link& link) {
  return bytes > 0 ? link.seconds + bytes / link.bytes_per_second : 0;
}

double gather_seconds(int64_t values, const Ranks& ranks) {
  return double(ranks.count - 1) * message_seconds(double(values) * sizeof(double), ranks.link);
}

}  // namespace headroom::planner
