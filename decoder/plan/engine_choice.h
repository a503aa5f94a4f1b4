#pragma once

#include <string>
#include <vector>

namespace headroom {

/// The fastest engine of a GPU library for one convolution, by measurement. The GPU's module writes the texts
/// and compares them. All other code copies them.
struct EngineChoice {
  std::string problem;       ///< dtype, channels, taps, extents and strides
  std::string engine;        ///< number and settings of the fastest engine
  double seconds = 0;        ///< time of one run
  std::string first_engine;  ///< engine that the library's own heuristic puts first
  double first_seconds = 0;
  friend bool operator==(const EngineChoice&, const EngineChoice&) = default;
};

/// The choices that differ from the library's own.
inline std::vector<EngineChoice> faster_engines(std::vector<EngineChoice> timed) {
  std::erase_if(timed, [](const EngineChoice& choice) { return choice.engine == choice.first_engine; });
  return timed;
}

}  // namespace headroom
