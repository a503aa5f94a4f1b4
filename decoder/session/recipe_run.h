#pragma once

#include <functional>

#include "decoder/plan/recipe.h"
#include "decoder/session/session.h"

namespace headroom {

/// What a decode by a recipe may be given beside what it decodes.
struct RecipeHooks {
  EventSink* events = nullptr;            ///< null for nobody
  std::function<void(double)> loading{};  ///< receives the share of the weights that is there
  /// Told before each tile which part of the whole's predicted time it is.
  std::function<void(double begin, double end)> tile_started{};
  gpu::Gpu* gpu = nullptr;  ///< which must be there where the plan is for one
};

/// Decodes every tile by its plan and blends them into `sink`, which is not finished. `model` is that of the
/// request's frames, the plan has been found valid for it. Throws InputError where the latent does not have
/// the plan's shape, LimitExceeded, DeviceError.
RunStats decode(const Model& model, const RecipePlan& plan, const ParameterSource& weights,
                const Array& latent, PictureSink& sink, const RecipeHooks& hooks = {});

}  // namespace headroom
