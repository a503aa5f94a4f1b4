#pragma once

#include <string>

#include "decoder/graph/model.h"

namespace headroom {

/// True if `planned`, a plan's name of its model, names another model than `given`. Names match if they are
/// equal. Paths of folders or checkpoints match if one ends with the other.
bool names_other_model(const std::string& planned, const Model& given);

/// How --model names it: a built-in name, or the folder of its config.
std::string argument_of(const Model& model);

}  // namespace headroom
