#pragma once

#include "decoder/graph/model.h"
#include "decoder/plan/recipe.h"

namespace headroom {

/// The tiles in which the model's class decodes such a request by itself; a single one where it does not cut
/// it. `model` is that of the request's frames. Throws InputError where the class has no such tiles that are
/// known here.
Recipe published_recipe(const Model& model, const Request& request, RecipeName name);

}  // namespace headroom
