#pragma once

#include <string>
#include <vector>

#include "profiler/history/code_stacks.h"

namespace headroom::profiler {

/// Which module asked, outermost first: the frames outside torch from the autoencoder's first one on
/// ("vae.py:forward", "resnet.py:forward"), or the innermost four, and what of torch they called ("conv").
/// Empty where no stack was recorded.
std::vector<std::string> module_path(const CodeStacks& stacks, StackId stack);

/// The innermost line outside torch: "resnet.py:348 forward". Where there is none the innermost frame.
std::string place_of(const CodeStacks& stacks, StackId stack);

}  // namespace headroom::profiler
