#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "decoder/graph/model.h"
#include "planner/cost/cost_model.h"
#include "planner/search/frontier.h"
#include "reports/figures/table.h"

namespace headroom::reports {

/// What Headroom would need for a decoder and a size, to stand beside what others took.
struct DecoderNeed {
  Request request;
  int64_t untiled_bytes = 0;                   ///< of planner::untiled_peak()
  int64_t smallest_bytes = 0;                  ///< the smallest limit under which there is a plan
  std::vector<planner::FrontierPoint> points;  ///< largest peak first
  bool assumed = true;                         ///< seconds are by stated assumptions
};

/// A number of bytes that a decode may have, and where it is from.
struct AvailableMemory {
  int64_t bytes = 0;
  bool recorded = false;  ///< what PyTorch had when it ran out; or else a limit that was asked for
};

/// Takes some seconds for large pictures. The limit of the options is not used. Throws InputError as the
/// planner does.
DecoderNeed decoder_need(const Model& model, const Request& request, const planner::PlanOptions& options,
                         const planner::CostModel& costs);

/// Limits, from as built to the smallest, and how long each takes. The fastest within `available_bytes`
/// stands out.
Table need_table(const DecoderNeed& need, std::optional<int64_t> available_bytes);

/// The smallest limit beside the peak that was recorded, and what fits what was available.
std::vector<std::string> need_sentences(const DecoderNeed& need, int64_t recorded_peak_bytes,
                                        const std::optional<AvailableMemory>& available);

}  // namespace headroom::reports
