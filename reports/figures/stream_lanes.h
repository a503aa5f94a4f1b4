#pragma once

#include <string>
#include <vector>

#include "reports/figures/document.h"

namespace headroom::reports {

/// Something that ran on a stream, or as much of it as a column of a drawing has.
struct LaneBlock {
  double begin_seconds = 0, end_seconds = 0;
  double busy_seconds = 0;  ///< of these; all, where it is one activity
  int32_t pass = -1;        ///< -1 where it is not known
  ActivityKind kind{};
  int64_t activities = 0;
  int32_t name = -1;  ///< index into Trace::activity_names where it is one activity
};

/// What ran on one stream of a GPU, or what the host drove: the tiles, one after another.
struct StreamLane {
  std::string title;  ///< "stream 7", "tiles"
  bool tiles = false;
  std::vector<LaneBlock> blocks;  ///< by their beginnings; those of one kind and pass do not overlap
};

/// A lane for each stream, the busiest first, and one for the tiles as they followed one another; none where
/// no GPU was watched. At most `columns` times the number of kinds and passes of a column for each lane:
/// where there is more between `begin_seconds` and `end_seconds`, it is summed up column by column.
std::vector<StreamLane> stream_lanes(const RecordedTrace& recorded, double begin_seconds, double end_seconds,
                                     size_t columns);

}  // namespace headroom::reports
