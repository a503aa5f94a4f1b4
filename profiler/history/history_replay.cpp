#include "profiler/history/history_replay.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "decoder/base/errors.h"

namespace headroom::profiler {
namespace {

using Action = MemoryRecord::Action;

/// Replays records in order.
class HistoryReplay {
 public:
  HistoryReplay(DeviceHistory& history, size_t records)
      : history_(history), end_(static_cast<uint32_t>(records) + 1) {}

  void follow(const MemoryRecord& record) {
    const uint32_t moment = ++moment_;
    switch (record.action) {
      case Action::alloc:
        return alloc(record, moment);
      case Action::free:
        return free(record, moment);
      case Action::segment_taken:
        return take_segment({record.address, record.bytes, moment, end_, record.expandable});
      case Action::segment_returned:
        return return_segment(record, moment);
      case Action::refused:
        history_.refusals.push_back({moment, record.bytes, std::nullopt, record.stack});
        if (record.free_bytes != MemoryRecord::kUnknown)
          history_.refusals.back().free_bytes = record.free_bytes;
    }
  }

  void finish(const FinalState& state) {
    for (const FinalBlock& block : state.blocks) {
      const auto found = live_.find(block.address);
      if (found == live_.end()) {
        history_.allocations.push_back(
            {block.address, block.asked_bytes, block.bytes, 0, end_, block.stack, true});
      } else if (history_.allocations[found->second].bytes <= block.bytes) {
        history_.allocations[found->second].block_bytes = block.bytes;
      }
    }
    for (const RecordedSegment& segment : state.segments) {
      if (!overlaps_held(segment))
        history_.segments.push_back({segment.address, segment.bytes, 0, end_, segment.expandable});
    }
  }

 private:
  void alloc(const MemoryRecord& record, uint32_t moment) {
    const auto index = static_cast<uint32_t>(history_.allocations.size());
    const auto [at, is_new] = live_.try_emplace(record.address, index);
    if (!is_new) {
      // The free record of the previous allocation is missing.
      history_.allocations[at->second].end = moment;
      at->second = index;
    }
    history_.allocations.push_back({record.address, record.bytes, 0, moment, end_, record.stack, false});
  }

  void free(const MemoryRecord& record, uint32_t moment) {
    const auto found = live_.find(record.address);
    if (found == live_.end()) {
      history_.allocations.push_back({record.address, record.bytes, 0, 0, moment, 0, true});
      return;
    }
    history_.allocations[found->second].end = moment;
    live_.erase(found);
  }

  void take_segment(const RecordedSegment& segment) {
    held_[segment.address] = history_.segments.size();
    history_.segments.push_back(segment);
  }

  /// In an expandable segment, the range may be part of a mapped piece, or several pieces.
  void return_segment(const MemoryRecord& record, uint32_t moment) {
    const uint64_t begin = record.address, end = begin + static_cast<uint64_t>(record.bytes);
    auto at = held_.upper_bound(begin);
    if (at != held_.begin()) --at;
    bool found = false;
    while (at != held_.end() && at->first < end) {
      const RecordedSegment piece = history_.segments[at->second];
      const uint64_t piece_end = piece.address + static_cast<uint64_t>(piece.bytes);
      if (piece_end <= begin) {
        ++at;
        continue;
      }
      found = true;
      history_.segments[at->second].end = moment;
      at = held_.erase(at);
      if (piece.address < begin)
        take_segment(
            {piece.address, static_cast<int64_t>(begin - piece.address), moment, end_, piece.expandable});
      if (piece_end > end)
        take_segment({end, static_cast<int64_t>(piece_end - end), moment, end_, piece.expandable});
    }
    if (!found) history_.segments.push_back({begin, record.bytes, 0, moment, record.expandable});
  }

  bool overlaps_held(const RecordedSegment& segment) const {
    const uint64_t end = segment.address + static_cast<uint64_t>(segment.bytes);
    auto after = held_.lower_bound(end);
    if (after == held_.begin()) return false;
    const RecordedSegment& before = history_.segments[std::prev(after)->second];
    return before.address + static_cast<uint64_t>(before.bytes) > segment.address;
  }

  DeviceHistory& history_;
  const uint32_t end_;
  uint32_t moment_ = 0;
  std::unordered_map<uint64_t, uint32_t> live_;  ///< allocations by address
  std::map<uint64_t, size_t> held_;              ///< segments by address
};

/// Live bytes at each moment, from spans [begin, end).
template <typename Span>
std::vector<int64_t> sums_of(const std::vector<Span>& spans, size_t moments, const std::string& origin) {
  std::vector<int64_t> changes(moments + 1, 0);
  for (const Span& span : spans) {
    // Valid files cannot overflow the sum: spans are small, and kMostRecordedBytes bounds their total at any
    // moment. Invalid files may.
    if (__builtin_add_overflow(changes[span.begin], span.bytes, &changes[span.begin]) ||
        __builtin_sub_overflow(changes[span.end], span.bytes, &changes[span.end])) {
      throw InputError(origin + ": expected less than 2^50 bytes at a time, found more");
    }
  }
  std::vector<int64_t> sums(moments);
  int64_t now = 0;
  for (size_t i = 0; i < moments; ++i) {
    if (__builtin_add_overflow(now, changes[i], &now) || now > kMostRecordedBytes) {
      throw InputError(origin + ": expected less than 2^50 bytes at a time, found more");
    }
    sums[i] = now;
  }
  return sums;
}

void set_seconds(DeviceHistory& history, const std::vector<MemoryRecord>& records) {
  const bool timed = !records.empty() && std::all_of(records.begin(), records.end(), [](const auto& one) {
    return !std::isnan(one.seconds);
  });
  if (!timed) return;
  const double first = records.front().seconds;
  history.seconds.push_back(0);
  for (const MemoryRecord& record : records)
    history.seconds.push_back(std::max(history.seconds.back(), record.seconds - first));
}

}  // namespace

DeviceHistory replay(std::string device, const std::vector<MemoryRecord>& records, const FinalState& end,
                     const std::string& origin) {
  DeviceHistory history;
  history.device = std::move(device);
  const auto allocates = [](const MemoryRecord& record) { return record.action == Action::alloc; };
  history.allocations.reserve(static_cast<size_t>(std::count_if(records.begin(), records.end(), allocates)));
  {
    HistoryReplay replay(history, records.size());
    for (const MemoryRecord& record : records) replay.follow(record);
    replay.finish(end);
  }
  history.allocated_bytes = sums_of(history.allocations, records.size() + 1, origin);
  if (!history.segments.empty())
    history.reserved_bytes = sums_of(history.segments, records.size() + 1, origin);
  set_seconds(history, records);
  return history;
}

}  // namespace headroom::profiler
