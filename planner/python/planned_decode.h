#pragma once

#include <memory>

#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"

namespace headroom::python {

/// A plan and its model.
struct PlannedDecode {
  std::shared_ptr<const Model> model;
  Plan plan;
};

}  // namespace headroom::python
