#pragma once

#include <functional>
#include <optional>
#include <ostream>

#include "decoder/exchange/open_exchange.h"
#include "decoder/plan/stats.h"
#include "planner/decode_program/notes.h"
#include "planner/decode_program/options.h"
#include "planner/decode_program/prepared.h"

namespace headroom {

/// Returns this process's rank among several that decode together. Nullopt if it decodes alone: with
/// --queue, with a plan for one rank, or without a launcher. Throws InputError if the plan needs several
/// ranks and no launcher started them.
std::optional<RankEnvironment> rank_of(const DecodeOptions& options);

/// Connects to the other ranks, agrees with them on plan, latent and weights, and calls `run` with this
/// rank's part of the decode. Rank 0 gets the statistics of all ranks and writes the output. If one rank
/// fails, all ranks throw: InputError, DoesNotFit, LimitExceeded, DeviceError, ExchangeError.
void run_rank(const DecodeOptions& options, const RankEnvironment& environment, Notes& notes,
              const std::function<void(Prepared& part)>& run);

/// Prints a line for each rank. Nothing without ranks.
void print_ranks(const RunStats& stats, std::ostream& out);

}  // namespace headroom
