#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "decoder/files/array.h"
#include "decoder/plan/plan.h"

namespace headroom {

/// The picture that LibTorch makes of a latent untiled, in fp32, by diffusers' operators: of headroom-profile
/// beside this program. `weights` are arguments that name the model and its weights. Nothing where that
/// program is not there or has no LibTorch, where the class's code is not known to it, or where the decode
/// would not fit this machine's memory. `begins` is called where the program is there, before it runs.
std::optional<Array> libtorch_picture(const Request& request, const std::vector<std::string>& weights,
                                      const Array& latent, const std::function<void()>& begins);

}  // namespace headroom
