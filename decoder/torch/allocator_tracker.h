#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <optional>

#include "decoder/gpu/calls/device_memory.h"

namespace headroom::gpu {

/// Reports what LibTorch's caching allocator does on the current device to `watch`. An empty `watch` ends the
/// reports. Starts the allocator. Returns false if the allocator in use cannot be watched, such as CUDA's
/// own.
bool watch_libtorch_allocator(AllocatorWatch watch);

/// Segment event of a trace entry of the allocator. Nullopt for entries about blocks, which stay between
/// LibTorch and its allocator.
std::optional<AllocatorEvent> segment_event(const c10::CachingDeviceAllocator::TraceEntry& entry);

}  // namespace headroom::gpu
