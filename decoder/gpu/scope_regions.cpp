#include "decoder/gpu/scope_regions.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <span>

#include "decoder/gpu/placement.h"

namespace headroom {
namespace {

using Events = std::span<const MemoryRequests::Event>;

/// The requests that a scope returns before it ends, and their offsets in the scope's region.
struct Inner {
  std::vector<int64_t> numbers;
  MemoryRequests requests;
  Placement placement;
};

std::vector<bool> handed_back_within(Events scope) {
  std::vector<bool> inner(scope.size(), false);
  if (scope.empty()) return inner;
  // Requests of a scope have numbers that follow one another.
  std::vector<size_t> asked_at;
  std::optional<int64_t> first;
  for (size_t i = 0; i < scope.size(); ++i) {
    if (scope[i].bytes > 0) {
      if (!first) first = scope[i].number;
      asked_at.push_back(i);
    } else if (first && scope[i].number >= *first) {
      inner[i] = inner[asked_at[static_cast<size_t>(scope[i].number - *first)]] = true;
    }
  }
  return inner;
}

Inner inner_of(Events scope, const std::vector<bool>& inner) {
  Inner own;
  for (size_t i = 0; i < scope.size(); ++i) {
    if (!inner[i]) continue;
    if (scope[i].bytes > 0) {
      own.requests.ask(scope[i].bytes);
      own.numbers.push_back(scope[i].number);
    } else {
      own.requests.hand_back(std::lower_bound(own.numbers.begin(), own.numbers.end(), scope[i].number) -
                             own.numbers.begin());
    }
  }
  return own;
}

/// Bytes of those that come, and for each that goes the complement of its place among them.
std::vector<int64_t> sizes_and_order(const MemoryRequests& requests) {
  std::vector<int64_t> list;
  for (const MemoryRequests::Event& event : requests.events())
    list.push_back(event.bytes > 0 ? event.bytes : ~event.number);
  return list;
}

/// Scopes [begin, end) with one region.
struct Run {
  size_t begin = 0, end = 0;
  int64_t bytes = 0;
};

std::vector<Run> runs_of(const std::vector<Inner>& scopes) {
  std::vector<Run> runs;
  int64_t least = 0;
  for (size_t p = 0; p < scopes.size(); ++p) {
    const int64_t bytes = scopes[p].placement.bytes;
    if (!runs.empty()) {
      const int64_t most = std::max(runs.back().bytes, bytes);
      if (std::min(least, bytes) >= most - most / 4) {
        runs.back().end = p + 1;
        runs.back().bytes = most;
        least = std::min(least, bytes);
        continue;
      }
    }
    runs.push_back({p, p + 1, bytes});
    least = bytes;
  }
  return runs;
}

}  // namespace

RegionedRequests regions_of(const MemoryRequests& all) {
  const Events events(all.events());
  const std::vector<size_t>& begins = all.scopes();
  const auto scope = [&](size_t p) {
    const size_t end = p + 1 < begins.size() ? begins[p + 1] : events.size();
    return events.subspan(begins[p], end - begins[p]);
  };
  std::vector<Inner> inners;
  std::map<std::vector<int64_t>, Placement> placed;
  std::vector<bool> is_inner(events.size(), false);
  for (size_t p = 0; p < begins.size(); ++p) {
    const std::vector<bool> within = handed_back_within(scope(p));
    std::copy(within.begin(), within.end(), is_inner.begin() + static_cast<ptrdiff_t>(begins[p]));
    inners.push_back(inner_of(scope(p), within));
    Inner& inner = inners.back();
    const auto [same, is_new] = placed.try_emplace(sizes_and_order(inner.requests));
    if (is_new) same->second = find_placement(inner.requests, std::numeric_limits<int64_t>::max());
    inner.placement = same->second;
  }

  RegionedRequests regioned;
  regioned.offsets.resize(static_cast<size_t>(all.count()));
  const auto copy_outer = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      if (is_inner[i]) continue;
      int64_t& request = regioned.offsets[static_cast<size_t>(events[i].number)].request;
      if (events[i].bytes > 0) {
        request = regioned.requests.ask(events[i].bytes);
      } else {
        regioned.requests.hand_back(request);
      }
    }
  };
  copy_outer(0, begins.empty() ? events.size() : begins.front());
  for (const Run& run : runs_of(inners)) {
    const int64_t region = regioned.requests.ask(aligned_bytes(run.bytes));
    for (size_t p = run.begin; p < run.end; ++p) {
      const Inner& inner = inners[p];
      for (size_t i = 0; i < inner.numbers.size(); ++i)
        regioned.offsets[static_cast<size_t>(inner.numbers[i])] = {region, inner.placement.offsets[i]};
    }
    copy_outer(begins[run.begin], run.end < begins.size() ? begins[run.end] : events.size());
    regioned.requests.hand_back(region);
  }
  return regioned;
}

}  // namespace headroom
