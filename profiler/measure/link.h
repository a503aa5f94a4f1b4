#pragma once

#include "decoder/exchange/exchange.h"
#include "decoder/plan/ranked_plan.h"

namespace headroom::profiler {

/// What a message between neighbours takes where all ranks exchange with theirs at once, as they do after a
/// pass: the slowest rank counts. The same on all ranks, which call it together. At least two ranks. Throws
/// ExchangeError.
Link measure_link(Exchange& exchange);

}  // namespace headroom::profiler
