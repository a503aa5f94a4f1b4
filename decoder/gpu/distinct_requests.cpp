#include "decoder/gpu/distinct_requests.h"

#include <cstddef>

namespace headroom {
namespace {

/// Whether the scope [scope, end) asks for what the scope [before, scope) asked for, and both return all of
/// it: then whatever else is live is the same for both.
bool repeats(const std::vector<MemoryRequests::Event>& events, size_t before, size_t scope, size_t end) {
  // A scope that begins with a return returns something of an earlier scope, so it repeats none.
  if (scope - before != end - scope || scope == end || events[scope].bytes == 0) return false;
  const int64_t first_before = events[before].number, first = events[scope].number;
  int64_t held = 0;
  for (size_t i = 0; i < end - scope; ++i) {
    const MemoryRequests::Event &a = events[before + i], &b = events[scope + i];
    if (a.bytes != b.bytes || a.number - first_before != b.number - first || b.number < first) return false;
    held += b.bytes > 0 ? 1 : -1;
  }
  return held == 0;
}

}  // namespace

Distinct distinct_of(const MemoryRequests& requests) {
  const auto& events = requests.events();
  Distinct distinct{{}, std::vector<int64_t>(static_cast<size_t>(requests.count()))};
  const auto copy = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      int64_t& own = distinct.of[static_cast<size_t>(events[i].number)];
      if (events[i].bytes > 0) {
        MemoryRequests::Series series = events[i].series;
        if (series.before >= 0) series.before = distinct.of[static_cast<size_t>(series.before)];
        own = distinct.requests.ask(events[i].bytes, series);
      } else {
        distinct.requests.hand_back(own);
      }
    }
  };
  const auto& scopes = requests.scopes();
  copy(0, scopes.empty() ? events.size() : scopes.front());
  for (size_t p = 0; p < scopes.size(); ++p) {
    const size_t begin = scopes[p], end = p + 1 < scopes.size() ? scopes[p + 1] : events.size();
    if (p == 0 || !repeats(events, scopes[p - 1], begin, end)) {
      copy(begin, end);
      continue;
    }
    const int64_t back = events[begin].number - events[scopes[p - 1]].number;
    for (size_t i = begin; i < end; ++i) {
      const auto number = static_cast<size_t>(events[i].number);
      distinct.of[number] = distinct.of[number - static_cast<size_t>(back)];
    }
  }
  return distinct;
}

}  // namespace headroom
