#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <optional>

#include "decoder/gpu/calls/allocator_watch.h"

namespace headroom::gpu {

/// Tells `watch` what LibTorch's caching allocator does on the current device; an empty one ends it. False
/// where that allocator cannot be watched (the one that CUDA has itself, say). Starts
/// the allocator.
bool watch_libtorch_allocator(AllocatorWatch watch);

/// What an entry of its trace says of segments; none for what is between LibTorch and its allocator.
std::optional<AllocatorEvent> segment_event(const c10::CachingDeviceAllocator::TraceEntry& entry);

}  // namespace headroom::gpu
