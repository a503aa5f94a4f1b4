#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/figures/timeline.h"

namespace headroom::reports {

/// An allocation of a decode: a rectangle over time and offset.
struct MapPlace {
  double begin_seconds = 0, end_seconds = 0;
  int64_t offset = 0, bytes = 0;
  MemoryKind kind{};
  std::string name;   ///< the tensor's name, or the kind's if it belongs to no tensor
  int32_t pass = -1;  ///< pass that allocated it; -1: before the first
};

/// Layout of a decode's memory over time, from a trace. No two places overlap.
struct MemoryMap {
  std::vector<MapPlace> places;  ///< ordered by begin time
  bool gaps_cost_memory = true;  ///< false for the CPU's pool, whose gaps are only addresses
  int64_t reserved_bytes = 0;    ///< offsets end here
  int64_t live_bytes = 0;        ///< largest live bytes at any moment
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

/// A gap between the places or behind the last one.
struct MapGap {
  int64_t offset = 0, bytes = 0;
};
std::vector<MapGap> gaps_of(const MemoryMap& map, const std::vector<MapPlace>& places);

/// A table of the places by offset: name, kind, bytes, offset, from, to. Adjacent blocks of one tensor share
/// a row. Gaps follow, largest first.
Table places_table(const MemoryMap& map, double seconds);

}  // namespace headroom::reports
