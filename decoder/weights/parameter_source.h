#pragma once

#include <algorithm>
#include <functional>

#include "decoder/operations/operation.h"

namespace headroom {

/// Fills `out` with the elements [begin, end) of a parameter, counted in the order of its shape. Called on
/// several threads at once.
using ParameterSource = std::function<void(const Parameter& parameter, const Interval& elements, float* out)>;

/// Reads a value for each channel. All frames of a channel share a stored value (Op::frames_in_channels).
inline void read_channels(const ParameterSource& source, const Parameter& parameter, int64_t channels,
                          float* out) {
  const int64_t stored = elements_of(parameter), frames = channels / stored;
  source(parameter, {0, stored}, out);
  for (int64_t channel = stored; frames > 1 && channel-- > 0;)
    std::fill_n(out + channel * frames, frames, float{out[channel]});
}

}  // namespace headroom
