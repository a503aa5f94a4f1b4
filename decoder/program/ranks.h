#pragma once

#include <optional>

#include "decoder/exchange/rank_environment.h"
#include "decoder/plan/stats.h"
#include "decoder/program/notes.h"
#include "decoder/program/options.h"

namespace headroom {

/// Which of several processes that decode together this one is. Nothing where it is alone: nobody started
/// ranks, or the plan of --plan is for one. Throws InputError where the plan is for several ranks and nobody
/// started them.
std::optional<RankEnvironment> rank_of(const DecodeOptions& options);

/// Decodes this rank's part. On rank 0 the statistics of all; nothing on the others, which write and print
/// nothing. Throws InputError, DoesNotFit, LimitExceeded, DeviceError, ExchangeError: on all ranks where one
/// of them fails.
std::optional<RunStats> run_ranks(const DecodeOptions& options, const RankEnvironment& environment,
                                  Notes& progress);

}  // namespace headroom
