#pragma once

#include <optional>
#include <ostream>

#include "decoder/exchange/open_exchange.h"
#include "decoder/plan/stats.h"
#include "planner/decode_program/notes.h"
#include "planner/decode_program/options.h"

namespace headroom {

/// Returns this process's rank among several that decode together. Nullopt if it decodes alone: with
/// --queue, with a plan for one rank, or without a launcher. Throws InputError if the plan needs several
/// ranks and no launcher started them.
std::optional<RankEnvironment> rank_of(const DecodeOptions& options);

/// Decodes this rank's part. Returns the statistics of all ranks on rank 0, nullopt on the others, which
/// write and print nothing. If one rank fails, all ranks throw: InputError, DoesNotFit, LimitExceeded,
/// DeviceError, ExchangeError.
std::optional<RunStats> run_ranks(const DecodeOptions& options, const RankEnvironment& environment,
                                  Notes& progress);

/// Prints a line for each rank. Nothing without ranks.
void print_ranks(const RunStats& stats, std::ostream& out);

}  // namespace headroom
