#pragma once

#include "decoder/plan/stats.h"
#include "decoder/program/notes.h"
#include "decoder/program/options.h"

namespace headroom {

/// Whether --recipe asks for tiles that are blended, or the file of --plan has plans for them.
bool has_recipe(const DecodeOptions& options);

/// Decodes by a recipe. Throws InputError, DoesNotFit, LimitExceeded, DeviceError.
RunStats run_recipe(const DecodeOptions& options, Notes& progress);

}  // namespace headroom
