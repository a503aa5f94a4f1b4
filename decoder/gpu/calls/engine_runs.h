#pragma once

#include <cstdint>
#include <string>

namespace headroom::gpu {

/// Number of convolutions that one engine ran: a library's engine, or our own kernels.
struct EngineRuns {
  std::string name;       ///< the library's, with the engine's number, e.g. "cuDNN 41" or "cuDNN 41 by time"
  bool compiled = false;  ///< the engine compiles its kernels at run time
  int64_t runs = 0;
};

}  // namespace headroom::gpu
