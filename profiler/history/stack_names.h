#pragma once

#include <string>
#include <vector>

#include "profiler/history/code_stacks.h"

namespace headroom::profiler {

/// Module path of an allocation, outermost first. It holds the frames outside torch, starting at the
/// autoencoder ("vae.py:forward", "resnet.py:forward"). Without an autoencoder, it holds the innermost four.
/// The torch operation that they called ("conv") comes last. Empty if no stack was recorded.
std::vector<std::string> module_path(const CodeStacks& stacks, StackId stack);

/// The innermost line outside torch, such as "resnet.py:348 forward", or else the innermost frame.
std::string place_of(const CodeStacks& stacks, StackId stack);

}  // namespace headroom::profiler
