#pragma once

#include <string>
#include <vector>

#include "decoder/files/stored_dtype.h"
#include "decoder/graph/graph.h"
#include "decoder/graph/parameters.h"

namespace headroom {

/// True if a stored tensor of this shape can be the parameter: see check_stored_shape().
bool is_stored_shape(const Parameter& parameter, const std::vector<int64_t>& stored);

/// Throws InputError where a stored tensor of this shape cannot be the parameter. `where` names it. A linear
/// layer and a 1×1 convolution stand for one another: [O, I] and [O, I, 1, 1] are the same shape here.
void check_stored_shape(const Parameter& parameter, const std::vector<int64_t>& stored,
                        const std::string& where);

/// Throws InputError where one of these values, of which the first is element `begin` of the tensor, is a NaN
/// or an infinity.
void check_finite(const float* values, const Interval& elements, const std::string& where);

}  // namespace headroom
