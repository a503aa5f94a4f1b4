#pragma once

#include "decoder/exchange/exchange.h"
#include "decoder/plan/ranked_plan.h"

namespace headroom::profiler {

/// Measures the time of a message between neighbours. All ranks exchange with theirs at once, as they do
/// after a pass, and the slowest rank counts. All ranks call it together and get equal results. Needs at
/// least two ranks. Throws ExchangeError.
Link measure_link(Exchange& exchange);

}  // namespace headroom::profiler
