#pragma once

#include <string>

#include "decoder/plan/plan.h"

namespace headroom {

/// Help text of the flag --tf32. Its text is "true" without a value.
constexpr const char* kTf32Help =
    "in fp32 on a GPU, round inputs of convolutions and matrix products to TF32, which is faster and less "
    "precise; --tf32=convolutions leaves matrix products in full fp32, as PyTorch does by default";

/// Sets the request's TF32 from the value of --tf32, which is empty if it was not given. Otherwise the
/// request keeps its own. Throws InputError if the dtype or the device cannot use it.
void set_tf32(Request& request, const std::string& option);

}  // namespace headroom
