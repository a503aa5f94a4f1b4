#pragma once

#include <string>
#include <vector>

#include "decoder/files/stored_dtype.h"
#include "decoder/graph/graph.h"
#include "decoder/operations/operation.h"

namespace headroom {

/// True if a stored tensor of this shape can be the parameter: see check_stored_shape().
bool is_stored_shape(const Parameter& parameter, const std::vector<int64_t>& stored);

/// Throws InputError if a stored tensor of this shape cannot be the parameter. `where` names the tensor in
/// the message. A linear layer can stand for a 1×1 convolution and vice versa: [O, I] and [O, I, 1, 1] count
/// as the same shape.
void check_stored_shape(const Parameter& parameter, const std::vector<int64_t>& stored,
                        const std::string& where);

/// Throws InputError if a value is a NaN or an infinity. `elements` gives the values' positions in the
/// tensor.
void check_finite(const float* values, const Interval& elements, const std::string& where);

}  // namespace headroom
