#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "decoder/lowering/peak.h"
#include "decoder/trace/memory_kind.h"

namespace headroom::planner {

/// Something that is on the device.
struct LiveEntry {
  std::string name;  ///< of the tensor, in full; the kind's where it is of none
  MemoryKind kind{};
  int64_t bytes = 0;
  friend bool operator==(const LiveEntry&, const LiveEntry&) = default;
};

/// Whether it is of a tensor or of a step on one; all else is what a kind takes as a whole.
bool is_of_tensor(const LiveEntry& entry);

/// Entries of one name and kind put together, largest first, none of them empty.
std::vector<LiveEntry> by_size(const std::vector<LiveEntry>& entries);

/// The memory model that the plan's peaks were counted by. Workspace depends on the number of threads, which
/// a plan does not name; where it was made for another machine, its peaks tell.
MemoryModel memory_model_of_plan(const Plan& plan, const Graph& graph);

/// The name of a picture that stays in memory.
constexpr const char* kPictureEntry = "picture";

/// What a plan counts beside everything that it names: on the CPU growth of other process memory, on a GPU
/// gaps of its reservation.
LiveEntry reserve_entry(int64_t bytes, DeviceKind device);

/// What is on the device before the first pass, and at one moment of a pass: by name, largest first.
std::vector<LiveEntry> live_before_passes(const Plan& plan, const Graph& graph);
std::vector<LiveEntry> live_at(const Plan& plan, const Graph& graph, size_t pass, const PassSweep& sweep,
                               const SweepPoint& point);

}  // namespace headroom::planner
