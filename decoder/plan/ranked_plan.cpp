#include "decoder/plan/ranked_plan.h"

#include <algorithm>

namespace headroom {

int64_t RankedPlan::peak_bytes() const {
  int64_t peak = 0;
  for (const Plan& own : plans) peak = std::max(peak, own.predicted_peak_bytes);
  return peak;
}

int64_t RankedPlan::sent_bytes() const {
  int64_t sent = 0;
  for (const RankTraffic& of_rank : traffic) sent += of_rank.total();
  return sent;
}

}  // namespace headroom
