#pragma once

#include <filesystem>
#include <functional>

#include "decoder/exchange/exchange.h"
#include "decoder/plan/ranked_plan.h"
#include "decoder/session/session.h"

namespace headroom {

/// Output, callbacks and resources of one rank's part of a decode.
struct RankedHooks {
  PictureSink* output = nullptr;          ///< rank 0's, and no other's: where the picture goes
  EventSink* events = nullptr;            ///< null for nobody
  std::function<void(double)> loading{};  ///< receives the share of the weights that is there
  gpu::Gpu* gpu = nullptr;                ///< for plans that are for one
  std::filesystem::path spool_folder{};   ///< for a rank's rows of the output, until rank 0 takes them
};

/// Decodes the rows of exchange.rank() and, on rank 0, finishes the output with those of all ranks, band by
/// band: no rank holds the whole. Statistics are this rank's, with those of all ranks besides
/// (RunStats::ranks). Throws ExchangeError where another rank fails; after any error the caller calls
/// exchange.abandon().
RunStats decode(const Model& model, const RankedPlan& plan, const ParameterSource& weights,
                const Array& latent, Exchange& exchange, const RankedHooks& hooks);

/// The rows of the output that a rank makes.
Interval output_rows(const Model& model, const Plan& plan);

}  // namespace headroom
