#pragma once

#include <string>
#include <vector>

#include "decoder/plan/recipe.h"
#include "decoder/validator/validator.h"

namespace headroom {

/// Checks a plan with a recipe against the model's published rules alone: that its tiles are those of the
/// class and cover the output once, that each has a valid plan of its size, and that the limit holds what all
/// of it takes. `model` is that of the request's frames. Never throws on the plan's data, however odd.
std::vector<Violation> validate(const RecipePlan& plan, const Model& model);

/// Throws what require_none() does. `origin` is the plan's file, for the message.
void require_valid(const RecipePlan& plan, const Model& model, const std::string& origin);

}  // namespace headroom
