#include "profiler/history/memory_history.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "decoder/families/families.h"

namespace headroom::profiler {
namespace {

constexpr int64_t kBlockStep = 512;

int64_t block_bytes_of(const RecordedAllocation& one) {
  if (one.block_bytes > 0) return one.block_bytes;
  return (one.bytes + kBlockStep - 1) / kBlockStep * kBlockStep;
}

/// Address ranges of the segments held at a moment. Adjacent pieces of an expandable segment are merged,
/// since it grows piece by piece. Other adjacent segments return to the driver one by one.
std::map<uint64_t, uint64_t> held_ranges(const DeviceHistory& device, size_t moment) {
  struct Held {
    uint64_t end = 0;
    bool expandable = false;
  };
  std::map<uint64_t, Held> held;
  for (const RecordedSegment& segment : device.segments) {
    if (segment.begin <= moment && moment < segment.end) {
      Held& one = held[segment.address];
      one.end = std::max(one.end, segment.address + static_cast<uint64_t>(segment.bytes));
      one.expandable = segment.expandable;
    }
  }
  std::map<uint64_t, uint64_t> joined;
  bool expandable = false;  // true if the last range of `joined` is expandable
  for (const auto& [begin, one] : held) {
    const bool overlaps = !joined.empty() && joined.rbegin()->second > begin;
    const bool touches = !joined.empty() && joined.rbegin()->second == begin;
    if (overlaps || (touches && expandable && one.expandable)) {
      joined.rbegin()->second = std::max(joined.rbegin()->second, one.end);
    } else {
      joined.emplace(begin, one.end);
    }
    expandable = one.expandable;
  }
  return joined;
}

}  // namespace

size_t DeviceHistory::peak() const {
  return static_cast<size_t>(std::max_element(allocated_bytes.begin(), allocated_bytes.end()) -
                             allocated_bytes.begin());
}

size_t DeviceHistory::asked_last() const {
  if (!refusals.empty()) return refusals.back().moment;
  size_t last = 0;
  for (const RecordedAllocation& one : allocations) last = std::max<size_t>(last, one.begin);
  return last;
}

std::vector<const RecordedAllocation*> DeviceHistory::live_at(size_t moment) const {
  std::vector<const RecordedAllocation*> live;
  for (const RecordedAllocation& one : allocations) {
    if (one.begin <= moment && moment < one.end) live.push_back(&one);
  }
  std::stable_sort(live.begin(), live.end(), [](const RecordedAllocation* a, const RecordedAllocation* b) {
    return a->bytes > b->bytes;
  });
  return live;
}

std::optional<Fragmentation> fragmentation_at(const DeviceHistory& device, size_t moment) {
  if (device.segments.empty()) return std::nullopt;
  std::vector<const RecordedAllocation*> live = device.live_at(moment);
  std::sort(live.begin(), live.end(),
            [](const RecordedAllocation* a, const RecordedAllocation* b) { return a->address < b->address; });
  Fragmentation found;
  found.allocated_bytes = device.allocated_bytes[moment];
  if (!device.reserved_bytes.empty()) found.reserved_bytes = device.reserved_bytes[moment];
  size_t next = 0;
  for (const auto& [begin, end] : held_ranges(device, moment)) {
    while (next < live.size() && live[next]->address < begin) ++next;
    uint64_t at = begin;
    int64_t free = 0, tensors = 0;
    const auto gap = [&](uint64_t until) {
      if (until <= at) return;
      free += static_cast<int64_t>(until - at);
      found.largest_free_bytes = std::max(found.largest_free_bytes, static_cast<int64_t>(until - at));
    };
    for (; next < live.size() && live[next]->address < end; ++next) {
      gap(live[next]->address);
      const int64_t bytes = block_bytes_of(*live[next]);
      found.rounding_bytes += bytes - live[next]->bytes;
      at = std::max(at, std::min(end, live[next]->address + static_cast<uint64_t>(bytes)));
      ++tensors;
    }
    gap(end);
    (tensors > 0 ? found.inactive_split_bytes : found.releasable_bytes) += free;
  }
  return found;
}

size_t MemoryHistory::main_device() const {
  size_t best = 0;
  const auto rank = [&](size_t i) {
    return std::pair(!devices[i].refusals.empty(), devices[i].allocated_bytes[devices[i].peak()]);
  };
  for (size_t i = 1; i < devices.size(); ++i) {
    if (rank(i) > rank(best)) best = i;
  }
  return best;
}

namespace {

/// The entry of families() whose decode() contains the frame. Null if there is none.
const Family* class_of(const CodeFrame& frame) {
  if (frame.kind != CodeFrame::Kind::code || frame.function.find("decode") == std::string::npos)
    return nullptr;
  const std::string_view path = frame.file;
  const size_t slash = path.find_last_of("/\\");
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  const std::vector<Family>& all = families();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Family& family) { return family.source_file == name; });
  return found == all.end() ? nullptr : &*found;
}

/// By stack: the class whose decode() is on it, or null.
std::vector<const Family*> classes_of(const CodeStacks& stacks) {
  std::vector<const Family*> classes(stacks.size(), nullptr);
  for (StackId id = 1; id < stacks.size(); ++id) {  // `below` always has a smaller id
    const Family* own = class_of(stacks.top(id));
    classes[id] = own != nullptr ? own : classes[stacks.below(id)];
  }
  return classes;
}

}  // namespace

std::optional<DecodingClass> decoding_class(const CodeStacks& stacks, const DeviceHistory& device) {
  const std::vector<const Family*> classes = classes_of(stacks);
  std::map<const Family*, double> bytes;  // in the order of families()
  for (const RecordedAllocation& one : device.allocations)
    if (classes[one.stack] != nullptr) bytes[classes[one.stack]] += double(one.bytes);
  for (const RecordedRefusal& refused : device.refusals)
    if (classes[refused.stack] != nullptr) bytes[classes[refused.stack]] += double(refused.asked_bytes);
  if (bytes.empty()) return std::nullopt;
  const Family* most = std::max_element(bytes.begin(), bytes.end(), [](const auto& a, const auto& b) {
                         return a.second < b.second;
                       })->first;
  DecodingClass found{std::string(most->class_name)};
  for (const RecordedAllocation& one : device.allocations) found.allocations += classes[one.stack] == most;
  return found;
}

int64_t bytes_beside_decode(const CodeStacks& stacks, const DeviceHistory& device) {
  const std::vector<const Family*> classes = classes_of(stacks);
  const size_t peak = device.peak();
  int64_t bytes = device.allocated_bytes[peak];
  for (const RecordedAllocation& one : device.allocations) {
    if (one.begin <= peak && peak < one.end && classes[one.stack] != nullptr) bytes -= one.bytes;
  }
  return bytes;
}

}  // namespace headroom::profiler
