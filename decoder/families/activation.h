#pragma once

#include "decoder/base/json_fields.h"
#include "decoder/graph/graph.h"

namespace headroom {

/// An activation by diffusers' name for it. Throws InputError naming the field.
Activation parse_activation(const JsonFields& field);

}  // namespace headroom
