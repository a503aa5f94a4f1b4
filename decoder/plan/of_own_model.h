#pragma once

#include <string>

#include "decoder/base/printable.h"
#include "decoder/plan/graph_names.h"
#include "decoder/plan/plan_file.h"

namespace headroom {

/// Runs `read`, which parses plans for the model named `model`. A name that the graph lacks shows that the
/// plan belongs to another model. The function then throws ModelOfPlan.
template <typename Read>
auto of_own_model(const std::string& model, const Read& read) {
  try {
    return read();
  } catch (const UnknownName& unknown) {
    throw ModelOfPlan(std::string(unknown.what()) + "; the plan is for the model \"" + printable(model) +
                          "\": name that one with --model DIR",
                      model);
  }
}

}  // namespace headroom
