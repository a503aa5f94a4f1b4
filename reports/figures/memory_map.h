#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/figures/timeline.h"

namespace headroom::reports {

/// Something that lies in the memory of a decode for a while: a rectangle over time and offset.
struct MapPlace {
  double begin_seconds = 0, end_seconds = 0;
  int64_t offset = 0, bytes = 0;
  MemoryKind kind{};
  std::string name;   ///< of the tensor; the kind's where it is of none
  int32_t pass = -1;  ///< that asked for it; -1 before the first
};

/// Layout of a decode's memory over time, from a trace. No two places overlap.
struct MemoryMap {
  std::vector<MapPlace> places;  ///< by their beginnings
  bool gaps_cost_memory = true;  ///< false of the CPU's pool, where they are addresses alone
  int64_t reserved_bytes = 0;    ///< offsets end here
  int64_t live_bytes = 0;        ///< the most at one time
  int64_t limit_bytes = 0;
  double end_seconds = 0;
  std::vector<Span> passes;
};

/// The map of a trace. It is empty if the trace recorded no places.
MemoryMap memory_map(const RecordedTrace& recorded);

/// Background of the map: the reserved bytes, the passes and the limit.
Chart map_chart(const MemoryMap& map);

/// The first moment at which the most bytes are live.
double peak_seconds(const MemoryMap& map);

/// Places in use at one moment, by offset.
std::vector<MapPlace> places_at(const MemoryMap& map, double seconds);

/// The bytes between and behind these places, largest gap first, as {offset, bytes}.
struct MapGap {
  int64_t offset = 0, bytes = 0;
};
std::vector<MapGap> gaps_of(const MemoryMap& map, const std::vector<MapPlace>& places);

/// By offset: name, kind, bytes, offset, from, to. Blocks of one tensor that lie one behind the other are one
/// row. Gaps follow, the largest first.
Table places_table(const MemoryMap& map, double seconds);

}  // namespace headroom::reports
