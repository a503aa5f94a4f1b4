#pragma once

#include <filesystem>

#include "decoder/graph/graph.h"
#include "decoder/plan/plan.h"
#include "profiler/events/device_events.h"

namespace headroom::profiler {

/// What was recorded as a memory snapshot of LibTorch, which its viewer (pytorch.org/memory_viz) and
/// torch.cuda._memory_viz read: segments, what of them was live at the end, and the allocations one by one,
/// each with the layer, pass and tile that it was for in place of a stack. At most 200,000 of these, the last
/// ones. By the host's clock. Throws DeviceError.
void write_memory_snapshot(const std::filesystem::path& file, const DeviceRecording& recording,
                           const Plan& plan, const Graph& graph);

}  // namespace headroom::profiler
