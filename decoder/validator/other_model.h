#pragma once

#include <string>

#include "decoder/graph/model.h"

namespace headroom {

/// Whether `planned`, a plan's name of its model, and `given` are two models by their names: a built-in name,
/// or a folder or checkpoint of which one path ends with the other.
bool names_other_model(const std::string& planned, const Model& given);

/// How --model names it: a built-in name, or the folder of its config.
std::string argument_of(const Model& model);

}  // namespace headroom
