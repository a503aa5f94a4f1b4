#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "decoder/gpu/dry_run.h"

namespace headroom {

/// When the place of a pass's weights becomes free. From then on they can be copied there, while the pass
/// before still runs.
struct WeightsAhead {
  size_t event = 0;    ///< of the dry run: nothing that lies in the place is live from here on
  int64_t offset = 0;  ///< of the place in the decode's memory
};

/// By pass, of a plan whose weights come in per pass. No event is before the pass before begins; the event of
/// a pass itself says that its weights cannot come ahead.
std::vector<WeightsAhead> weights_ahead(const DryRun& dry_run);

}  // namespace headroom
