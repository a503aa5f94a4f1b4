#pragma once

#include "decoder/graph/graph.h"
#include "decoder/graph/json_fields.h"

namespace headroom {

/// An activation by diffusers' name for it. Throws InputError naming the field.
Activation parse_activation(const JsonFields& field);

}  // namespace headroom
