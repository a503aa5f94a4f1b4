#pragma once

#include <memory>

#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"
#include "decoder/plan/ranked_plan.h"

namespace headroom::python {

/// A plan with the model that it is for.
struct PlannedDecode {
  std::shared_ptr<const Model> model;
  Plan plan;
  /// Where `plan` is one of several ranks': those of all of them. Null of a plan alone.
  std::shared_ptr<const RankedPlan> ranked{};
};

}  // namespace headroom::python
