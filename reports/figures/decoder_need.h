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
  std::string class_name;                      ///< the model's
  int64_t weights_bytes = 0;                   ///< parameters in the request's dtype
  int64_t untiled_bytes = 0;                   ///< from planner::untiled_peak(), weights included
  int64_t smallest_bytes = 0;                  ///< smallest limit that has a plan
  std::vector<planner::FrontierPoint> points;  ///< largest peak first
  bool assumed = true;                         ///< seconds come from assumed costs, not from a profile
};

/// Takes some seconds for large pictures. Ignores the limit in the options. Throws InputError as the planner
/// does.
DecoderNeed decoder_need(const Model& model, const Request& request, const planner::PlanOptions& options,
                         const planner::CostModel& costs);

/// Rows from the untiled peak down to the smallest limit, with the time of each. The fastest within
/// `available_bytes` stands out.
Table need_table(const DecoderNeed& need, std::optional<int64_t> available_bytes);

/// Says that another class decoded in the recording than the need's. Empty if they agree, or if the stacks
/// name no class.
std::string class_mismatch(const DecoderNeed& need, const profiler::CodeStacks& stacks,
                           const profiler::DeviceHistory& device);

/// Compares the smallest limit with the peak that `device` recorded. Names the fastest plan within
/// `limit_bytes`. Without a limit, takes the memory that the device had when it ran out. Says if only one of
/// the two peaks contains the decoder's weights.
std::vector<std::string> need_sentences(const DecoderNeed& need, const profiler::CodeStacks& stacks,
                                        const profiler::DeviceHistory& device,
                                        std::optional<int64_t> limit_bytes);

}  // namespace headroom::reports
