#include "decoder/torch/allocator_tracker.h"

#include <catch2/catch.hpp>

namespace headroom::gpu {
namespace {

using Entry = c10::CachingDeviceAllocator::TraceEntry;
using What = AllocatorEvent::What;

Entry entry(Entry::Action action) {
  return {action, 0, 0x7f0000000000, 64 << 20, nullptr, {0, 1}, 0};
}

TEST_CASE("segments that come and go are reported, whole or mapped page by page") {
  const AllocatorEvent taken{What::taken, 0x7f0000000000, 64 << 20, 0};
  const AllocatorEvent returned{What::returned, 0x7f0000000000, 64 << 20, 0};
  CHECK(segment_event(entry(Entry::SEGMENT_ALLOC)) == taken);
  CHECK(segment_event(entry(Entry::SEGMENT_MAP)) == taken);
  CHECK(segment_event(entry(Entry::SEGMENT_FREE)) == returned);
  CHECK(segment_event(entry(Entry::SEGMENT_UNMAP)) == returned);
}

TEST_CASE("what is between LibTorch and its allocator is not") {
  for (Entry::Action action :
       {Entry::ALLOC, Entry::FREE_REQUESTED, Entry::FREE_COMPLETED, Entry::SNAPSHOT, Entry::OOM})
    CHECK_FALSE(segment_event(entry(action)));
}

}  // namespace
}  // namespace headroom::gpu
