#pragma once

#include <vector>

#include "profiler/profile/latency_table.h"

namespace headroom::profiler {

/// What an untiled decode took, over what latency tables of calls in a row say of it. Such calls find their
/// tiles in caches. In a decode small tiles are there too, left by the step before; large ones are not.
struct DecodeRatio {
  double positions = 0;  ///< of the latent
  double ratio = 1;
};

/// Multiplies a table by the ratios of untiled decodes, ascending in their positions, the last of which has
/// the table's largest extents: in between by what lies between, linear in the logarithm of positions, and by
/// nothing from a sixteenth of the smallest decode down.
///
///     ratio        ,--------  as of the largest decode
///              ,--'
///     1 ------'
///            1/16   smallest   largest decode         positions, in powers of two
void meet_ratios(LatencyTable& table, const std::vector<DecodeRatio>& ratios);

}  // namespace headroom::profiler
