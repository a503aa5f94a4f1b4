#pragma once

#include <functional>
#include "decoder/operations/operation.h"

namespace headroom {

/// Fills `out` with the elements [begin, end) of a parameter, counted in the order of its shape. Called on
/// several threads at once.
using ParameterSource = std::function<void(const Parameter& parameter, const Interval& elements, float* out)>;

}  // namespace headroom
