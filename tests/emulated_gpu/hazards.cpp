#include "tests/emulated_gpu/hazards.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace headroom::gpu {
namespace {

constexpr const char* kNames[kStreams] = {"compute", "to_host", "from_host", "beside_compute"};

}  // namespace

void Hazards::split(uintptr_t at) {
  auto next = bytes_.upper_bound(at);
  if (next == bytes_.begin()) return;
  const auto range = std::prev(next);
  if (range->first == at || range->second.end <= at) return;
  Bytes rest = range->second;
  range->second.end = at;
  bytes_.emplace(at, std::move(rest));
}

void Hazards::order(Stream stream, const std::string& name, int other, const Touch& earlier) {
  if (earlier.time == 0 || other == static_cast<int>(stream)) return;
  if (clocks_[static_cast<size_t>(stream)][static_cast<size_t>(other)] < earlier.time) {
    throw std::logic_error(name + " on " + kNames[static_cast<size_t>(stream)] + " is not ordered after " +
                           earlier.name + " on " + kNames[static_cast<size_t>(other)]);
  }
  ++ordered_by_events_;
}

void Hazards::work(Stream stream, const std::string& name, const std::vector<Access>& accesses) {
  const auto own = static_cast<size_t>(stream);
  const int64_t now = ++clocks_[own][own];
  for (const Access& access : accesses) {
    const auto begin = reinterpret_cast<uintptr_t>(access.begin),
               end = begin + static_cast<uintptr_t>(access.bytes);
    split(begin);
    split(end);
    for (uintptr_t at = begin; at < end;) {
      auto range = bytes_.lower_bound(at);
      if (range == bytes_.end() || range->first > at) {
        const uintptr_t gap_end = range == bytes_.end() ? end : std::min(end, range->first);
        range = bytes_.emplace(at, Bytes{.end = gap_end}).first;
      }
      Bytes& bytes = range->second;
      if (bytes.writer >= 0) order(stream, name, bytes.writer, bytes.written);
      if (access.writes) {
        for (int other = 0; other < kStreams; ++other)
          order(stream, name, other, bytes.read[static_cast<size_t>(other)]);
        bytes.writer = static_cast<int>(own);
        bytes.written = {now, name};
        bytes.read = {};
      } else {
        bytes.read[own] = {now, name};
      }
      at = bytes.end;
    }
  }
}

Event Hazards::record(Stream stream) {
  events_.push_back(clocks_[static_cast<size_t>(stream)]);
  return Event{static_cast<int64_t>(events_.size()) - 1};
}

void Hazards::wait(Stream stream, Event event) {
  const Clock& seen = events_.at(static_cast<size_t>(event));
  Clock& own = clocks_[static_cast<size_t>(stream)];
  for (size_t i = 0; i < own.size(); ++i) own[i] = std::max(own[i], seen[i]);
}

}  // namespace headroom::gpu
