#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profiler/history/memory_history.h"
#include "reports/figures/chart.h"
#include "reports/figures/table.h"

namespace headroom::reports {

/// The device of this name, or where that is empty the main one. Throws InputError naming those that there
/// are.
const profiler::DeviceHistory& device_of(const profiler::MemoryHistory& history, const std::string& name);

/// Where a moment stands on the chart's x axis: seconds, or the number of its record where no times are
/// known.
double history_place(const profiler::DeviceHistory& device, size_t moment);
/// The last moment that is not after x; 0 before the first.
size_t history_moment(const profiler::DeviceHistory& device, double x);

/// Where the chart's x axis ends: a little behind the last moment, so that what was refused there is seen.
double history_end(const profiler::DeviceHistory& device);

/// Allocated and reserved bytes from `begin` to `end` in at most `columns` columns, of each its highest
/// moment, so that no peak is lost. With the peak and what was refused.
Chart history_chart(const profiler::DeviceHistory& device, double begin, double end, size_t columns);

/// What was live at a moment, largest first, at most `most` and all others as one.
Table history_tensors_table(const profiler::MemoryHistory& history, const profiler::DeviceHistory& device,
                            size_t moment, size_t most);
/// The same by the module that asked. Paths are without what all of them begin with.
Table history_modules_table(const profiler::MemoryHistory& history, const profiler::DeviceHistory& device,
                            size_t moment);

/// The peak, who asked last, what the allocator could not use: a sentence each, the peak first.
std::vector<std::string> history_sentences(const profiler::MemoryHistory& history,
                                           const profiler::DeviceHistory& device);

/// "upsampling.py:170 forward (interpolate)"; empty where no stack was recorded.
std::string asked_by(const profiler::MemoryHistory& history, profiler::StackId stack);

/// What asked last: the last refusal, or else the last allocation.
struct LastRequest {
  size_t moment = 0;
  int64_t bytes = 0;
  profiler::StackId stack = 0;
  bool refused = false;
  std::optional<int64_t> free_bytes{};  ///< on the device, of a refusal
};
std::optional<LastRequest> last_request(const profiler::DeviceHistory& device);

/// What was missing when memory was refused, even if all that was free had lain together; 0 where it was
/// enough, and lay apart. Nothing where that is not known.
std::optional<int64_t> missing_bytes(const profiler::DeviceHistory& device);

/// What the process could have had: reserved and free on the device when it ran out. Nothing where it did
/// not, or where the recording does not say what was free.
std::optional<int64_t> available_bytes(const profiler::DeviceHistory& device);

}  // namespace headroom::reports
