#include "profiler/events/driver_ledger.h"

#include <algorithm>
#include <iterator>

namespace headroom::profiler {
namespace {

/// The allocator uses its watcher's clock, which may differ slightly from the driver's.
constexpr int64_t kClockSlack_ns = 1'000'000;

}  // namespace

DriverLedger::DriverLedger(const std::vector<DeviceEvent>& events)
    : events_(events), is_segment_(events.size(), false) {
  // Allocations at each address, in order of time, as the driver and the allocator report them.
  struct Taken {
    int64_t at_ns;
    size_t event;
  };
  std::map<uint64_t, std::vector<Taken>> by_driver, by_allocator;
  for (size_t i = 0; i < events.size(); ++i) {
    if (const auto* change = std::get_if<DriverMemoryChanged>(&events[i]); change != nullptr) {
      if (change->bytes > 0) by_driver[change->address].push_back({change->at_ns, i});
    } else if (const auto* segment = std::get_if<SegmentChanged>(&events[i]); segment != nullptr) {
      if (segment->bytes > 0) by_allocator[segment->address].push_back({segment->at_ns, i});
    }
  }
  const auto earlier = [](const Taken& a, const Taken& b) { return a.at_ns < b.at_ns; };
  for (auto& [address, segments] : by_allocator) {
    std::vector<Taken>& reported = by_driver[address];
    std::stable_sort(reported.begin(), reported.end(), earlier);
    for (const Taken& segment : segments) {
      // Last driver allocation at this address before the segment.
      const auto after = std::upper_bound(reported.begin(), reported.end(),
                                          Taken{segment.at_ns + kClockSlack_ns, 0}, earlier);
      if (after != reported.begin()) is_segment_[std::prev(after)->event] = true;
    }
  }
}

bool DriverLedger::apply(size_t event) {
  if (const auto* segment = std::get_if<SegmentChanged>(&events_[event])) return apply_segment(*segment);
  if (const auto* change = std::get_if<DriverMemoryChanged>(&events_[event]))
    return apply_driver(*change, is_segment_[event]);
  if (const auto* pool = std::get_if<DriverPoolChanged>(&events_[event]))
    set_pool(pool->pool, pool->size_bytes);
  return true;
}

bool DriverLedger::apply_segment(const SegmentChanged& change) {
  if (change.bytes < 0) return unmap(change.address, -change.bytes);
  const auto reported = driver_segments_.find(change.address);
  const int64_t counted =
      reported == driver_segments_.end() ? change.bytes : std::max(change.bytes, reported->second);
  const auto [entry, is_new] = segments_.try_emplace(change.address);
  // If the address is already taken, the event that freed it was lost.
  segment_bytes_ += counted - entry->second.counted_bytes;
  entry->second = {change.bytes, counted};
  return is_new;
}

/// Unmaps an address range: one segment, several, or part of one.
bool DriverLedger::unmap(uint64_t address, int64_t bytes) {
  const uint64_t end = address + static_cast<uint64_t>(bytes);
  auto entry = segments_.upper_bound(address);
  if (entry != segments_.begin()) --entry;
  bool found = false;
  while (entry != segments_.end() && entry->first < end) {
    const uint64_t begins = entry->first, ends = begins + static_cast<uint64_t>(entry->second.bytes);
    if (ends <= address) {
      ++entry;
      continue;
    }
    found = true;
    const Segment whole = entry->second;
    entry = segments_.erase(entry);
    segment_bytes_ -= whole.counted_bytes;
    const auto keep = [&](uint64_t from, uint64_t to) {
      const auto left = static_cast<int64_t>(to - from);
      segments_[from] = {left, left};
      segment_bytes_ += left;
    };
    if (begins < address) keep(begins, address);
    if (ends > end) keep(end, ends);
  }
  return found;
}

bool DriverLedger::apply_driver(const DriverMemoryChanged& change, bool is_segment) {
  if (change.place != MemoryPlace::device) return true;
  if (change.pool != 0) {
    // A pool counts with its full reservation, however much of it is in use.
    set_pool(change.pool, change.pool_size_bytes);
    return true;
  }
  if (change.bytes > 0 && is_segment) {
    driver_segments_[change.address] = change.bytes;
    return true;
  }
  if (change.bytes > 0) {
    const auto [entry, is_new] = libraries_.try_emplace(change.address, 0);
    library_bytes_ += change.bytes - entry->second;
    entry->second = change.bytes;
    return is_new;
  }
  if (driver_segments_.erase(change.address) > 0) return true;
  const auto entry = libraries_.find(change.address);
  if (entry == libraries_.end()) return false;
  library_bytes_ -= entry->second;
  libraries_.erase(entry);
  return true;
}

void DriverLedger::set_pool(uint64_t pool, int64_t size_bytes) {
  int64_t& known = pools_[pool];
  library_bytes_ += std::max<int64_t>(0, size_bytes) - known;
  known = std::max<int64_t>(0, size_bytes);
}

}  // namespace headroom::profiler
