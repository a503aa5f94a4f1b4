#pragma once

#include <filesystem>
#include <functional>

#include "decoder/exchange/exchange.h"
#include "decoder/plan/plan.h"
#include "decoder/session/session.h"

namespace headroom {

/// Output, callbacks and resources of one rank's part of a decode.
struct RankedHooks {
  PictureSink* output = nullptr;          ///< destination of the picture; rank 0 only
  EventSink* events = nullptr;            ///< may be null
  std::function<void(double)> loading{};  ///< receives the loaded share of the weights
  gpu::Gpu* gpu = nullptr;                ///< for GPU plans
  std::filesystem::path spool_folder{};   ///< holds output rows until rank 0 collects them
};

/// Decodes the rows of exchange.rank(). Rank 0 then collects the rows of the other ranks piece by piece and
/// finishes the output, so no rank holds the whole picture. Returns this rank's statistics, with those of all
/// ranks in RunStats::ranks. Throws ExchangeError if another rank fails. After any error the caller must call
/// exchange.abandon().
RunStats decode(const Model& model, const Plans& plan, const ParameterSource& weights, const Array& latent,
                Exchange& exchange, const RankedHooks& hooks);

/// The rows of the output that a rank makes.
Interval output_rows(const Model& model, const Plan& plan);

}  // namespace headroom
