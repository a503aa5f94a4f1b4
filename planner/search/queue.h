#pragma once

#include <functional>

#include "decoder/graph/model.h"
#include "decoder/plan/requests.h"

namespace headroom::planner {

/// Plans the decode of one shape under the queue's limit. Throws DoesNotFit where there is none.
using PlanShape = std::function<Plan(const Request& request)>;

/// The requests with a plan for each distinct shape and the order in which they share one pool: the largest
/// need first, equal shapes together, otherwise as the requests stand. docs/planning.md says why. Throws
/// DoesNotFit naming the request that needs the most and the smallest limit for the whole queue; InputError
/// naming the request where the model cannot decode its size. Plans are made for the model, dtype and device
/// that `like` names; its sizes do not matter. `origin` names the file in messages.
RequestQueue plan_queue(RequestQueue requests, const Model& model, const Request& like, int64_t limit_bytes,
                        const PlanShape& plan_shape, const std::string& origin);

}  // namespace headroom::planner
