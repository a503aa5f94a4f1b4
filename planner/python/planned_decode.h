#pragma once

#include <memory>

#include "decoder/graph/model.h"
#include "decoder/interpreter/stream_memory.h"
#include "decoder/plan/plan.h"

namespace headroom::python {

/// A plan and its model.
struct PlannedDecode {
  std::shared_ptr<const Model> model;
  Plan plan;
};

/// How streams run, and their model.
struct PlannedStream {
  std::shared_ptr<const Model> model;
  StreamPlan streams;
};

}  // namespace headroom::python
