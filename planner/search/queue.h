#pragma once

#include <functional>

#include "decoder/graph/model.h"
#include "decoder/plan/requests.h"

namespace headroom::planner {

/// Plans the decode of one shape under the queue's limit. Throws DoesNotFit if no plan fits.
using PlanShape = std::function<Plan(const Request& request)>;

/// Plans a queue of requests: one plan for each distinct shape, and the order in which the decodes share one
/// pool. The decode with the largest peak goes first, and equal shapes are adjacent. Otherwise the given
/// order stays. docs/planning.md gives the reasons. Plans use the model, dtype and device of `like`; its
/// sizes are ignored. `origin` is the file name for messages.
///
/// Throws DoesNotFit with the request that needs most and the smallest limit for the whole queue. Throws
/// InputError with the request whose size the model cannot decode.
RequestQueue plan_queue(RequestQueue requests, const Model& model, const Request& like, int64_t limit_bytes,
                        const PlanShape& plan_shape, const std::string& origin);

}  // namespace headroom::planner
