#pragma once

#include <cstdint>
#include <string>

namespace headroom::gpu {

/// How often a library's engine ran for convolutions, or our own kernels did.
struct EngineRuns {
  std::string name;       ///< the library's, with the engine's number, e.g. "cuDNN 41"
  bool compiled = false;  ///< its kernels when its plan was made
  int64_t runs = 0;
};

}  // namespace headroom::gpu
