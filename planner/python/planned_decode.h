#pragma once

#include <memory>

#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"

namespace headroom::python {

/// A plan with the model that it is for.
struct PlannedDecode {
  std::shared_ptr<const Model> model;
  Plan plan;
};

}  // namespace headroom::python
