#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "decoder/schedule/peak.h"
#include "decoder/trace/memory_kind.h"

namespace headroom::planner {

/// One item of device memory.
struct LiveEntry {
  std::string name;  ///< full name of the tensor; title of the kind if there is no tensor
  MemoryKind kind{};
  int64_t bytes = 0;
  friend bool operator==(const LiveEntry&, const LiveEntry&) = default;
};

/// True if the entry belongs to a single tensor or to a step on one. Any other entry is the total of its
/// kind.
bool is_of_tensor(const LiveEntry& entry);

/// Merges entries of equal name and kind, drops empty ones, and sorts by size, largest first.
std::vector<LiveEntry> by_size(const std::vector<LiveEntry>& entries);

/// The memory model that the plan's peaks were computed with. Workspace depends on the number of threads,
/// which a plan does not store. If the plan is from another machine, its peaks give that number.
MemoryModel memory_model_of_plan(const Plan& plan, const Graph& graph);

/// The name of a picture that stays in memory.
constexpr const char* kPictureEntry = "picture";

/// Memory that no tensor of the plan accounts for. On the CPU: growth of the process outside the pool. On a
/// GPU: gaps in its reservation.
LiveEntry reserve_entry(int64_t bytes, const DeviceRecord& device);

/// Entries on the device before the first pass, and at one moment of a pass. Merged and sorted like
/// by_size().
std::vector<LiveEntry> live_before_passes(const Plan& plan, const Graph& graph);
std::vector<LiveEntry> live_at(const Plan& plan, const Graph& graph, size_t pass, const PassSweep& sweep,
                               const SweepPoint& point);

}  // namespace headroom::planner
