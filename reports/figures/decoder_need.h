#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "decoder/graph/model.h"
#include "planner/cost/cost_model.h"
#include "planner/search/frontier.h"
#include "profiler/history/memory_history.h"
#include "reports/figures/table.h"

namespace headroom::reports {

/// Memory that Headroom needs for a decoder and a size, for comparison with a recorded decode.
struct DecoderNeed {
  Request request;
  int64_t untiled_bytes = 0;                   ///< of planner::untiled_peak()
  int64_t smallest_bytes = 0;                  ///< the smallest limit under which there is a plan
  std::vector<planner::FrontierPoint> points;  ///< largest peak first
  bool assumed = true;                         ///< seconds are by stated assumptions
};

/// Takes some seconds for large pictures. The limit of the options is not used. Throws InputError as the
/// planner does.
DecoderNeed decoder_need(const Model& model, const Request& request, const planner::PlanOptions& options,
                         const planner::CostModel& costs);

/// Limits, from as built to the smallest, and how long each takes. The fastest within `available_bytes`
/// stands out.
Table need_table(const DecoderNeed& need, std::optional<int64_t> available_bytes);

/// The smallest limit beside the peak that `device` recorded, and the fastest plan within `limit_bytes`, or
/// where no limit is given within what the device had when it ran out of memory.
std::vector<std::string> need_sentences(const DecoderNeed& need, const profiler::DeviceHistory& device,
                                        std::optional<int64_t> limit_bytes);

}  // namespace headroom::reports
