#pragma once

#include "decoder/exchange/exchange.h"
#include "decoder/plan/plan.h"

namespace headroom::profiler {

/// Measures bandwidth and latency of the link between neighbouring ranks. All ranks exchange with their
/// neighbours at once, as after a pass, and the slowest rank counts. It is a collective call: every rank must
/// make it, and all get equal results. Needs at least two ranks. Throws ExchangeError.
Link measure_link(Exchange& exchange);

}  // namespace headroom::profiler
