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

/// The device of this name, or the main device if the name is empty. Throws InputError with the names of the
/// recorded devices.
const profiler::DeviceHistory& device_of(const profiler::MemoryHistory& history, const std::string& name);

/// Position of a moment on the chart's x axis, in seconds. Without recorded times it is the moment's number.
double history_place(const profiler::DeviceHistory& device, size_t moment);
/// The last moment that is not after x; 0 before the first.
size_t history_moment(const profiler::DeviceHistory& device, double x);

/// End of the chart's x axis, a little after the last moment, so that a refusal there stays visible.
double history_end(const profiler::DeviceHistory& device);

/// Allocated and reserved bytes from `begin` to `end`, in at most `columns` columns. Each column shows its
/// highest moment, so no peak is lost. Marks the peak and the last refusal.
Chart history_chart(const profiler::DeviceHistory& device, double begin, double end, size_t columns);

/// Tensors live at a moment that were allocated with one stack.
struct LiveStack {
  profiler::StackId stack = 0;
  bool before_recording = false;
  int64_t bytes = 0, tensors = 0;
  size_t first = 0;  ///< moment of the earliest allocation
};
/// Most bytes first, then the earliest.
std::vector<LiveStack> live_stacks(const profiler::DeviceHistory& device, size_t moment);

/// A row for each of live_stacks(). The table shows at most `most` rows and sums up the others.
Table history_tensors_table(const profiler::MemoryHistory& history, const profiler::DeviceHistory& device,
                            size_t moment, size_t most);
/// Bytes live at a moment by the module that allocated them. Paths omit their common beginning.
Table history_modules_table(const profiler::MemoryHistory& history, const profiler::DeviceHistory& device,
                            size_t moment);

/// Built-in models whose class decoded in the recording. Empty if the stacks name no class.
std::vector<std::string> recognised_models(const profiler::MemoryHistory& history,
                                           const profiler::DeviceHistory& device);

/// The one of these models to begin with. Empty if there is none.
std::string likely_model(const profiler::MemoryHistory& history, const profiler::DeviceHistory& device);

/// Sentences on the peak, the last request, fragmentation and memory allocated before the recording.
std::vector<std::string> history_sentences(const profiler::MemoryHistory& history,
                                           const profiler::DeviceHistory& device);

/// The last request for memory: the last refusal, or else the last allocation.
struct LastRequest {
  size_t moment = 0;
  int64_t bytes = 0;
  profiler::StackId stack = 0;
  bool refused = false;
  std::optional<int64_t> free_bytes{};  ///< on the device, of a refusal
};
std::optional<LastRequest> last_request(const profiler::DeviceHistory& device);

/// Memory available to the process when it ran out: reserved bytes plus free bytes on the device. Nothing if
/// it did not run out, or if the recording does not say what was free.
std::optional<int64_t> available_bytes(const profiler::DeviceHistory& device);

}  // namespace headroom::reports
