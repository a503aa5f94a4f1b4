#pragma once

#include <map>
#include <string>

#include "decoder/graph/json_fields.h"
#include "decoder/graph/model.h"

namespace headroom {

using Family = Model (*)(const JsonFields&);

/// Class names, which are diffusers' where it has the class, and who builds them.
const std::map<std::string, Family>& families();

}  // namespace headroom
