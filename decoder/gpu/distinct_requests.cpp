#include "decoder/gpu/distinct_requests.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "decoder/gpu/live_range.h"

namespace headroom {
namespace {

/// Inner requests of one scope, and the order in which they come and go: 1 for one that comes, and the
/// complement of its place among them for one that goes.
struct InnerRequests {
  std::vector<int64_t> numbers;
  std::vector<int64_t> order;
};

/// Which scopes need not be placed, since the requests of another one stand for theirs.
class Domination {
 public:
  explicit Domination(const MemoryRequests& requests)
      : requests_(requests), ranges_(live_ranges_of(requests)), scopes_(requests.scopes().size()) {
    find_inner();
  }

  /// By request: the one that stands for it.
  std::vector<int64_t> representatives() {
    std::vector<size_t> by(scopes_.size());
    std::iota(by.begin(), by.end(), size_t{0});
    std::map<std::vector<int64_t>, std::vector<size_t>> kept;  // by order
    auto pass = requests_.passes().begin();
    for (size_t scope = 0; scope < scopes_.size(); ++scope) {
      // What stands beside the tiles of another pass may have been moved.
      for (; pass != requests_.passes().end() && *pass <= requests_.scopes()[scope]; ++pass) kept.clear();
      if (scopes_[scope].numbers.empty()) continue;
      std::vector<size_t>& alike = kept[scopes_[scope].order];
      if (find_keeper(alike, scope, by)) continue;
      const auto first = alike.end() - std::min(std::ssize(alike), kLookBack);
      alike.erase(std::remove_if(first, alike.end(),
                                 [&](size_t before) {
                                   if (!earlier_lies_in_later(before, scope)) return false;
                                   by[before] = scope;
                                   return true;
                                 }),
                  alike.end());
      alike.push_back(scope);
    }
    std::vector<int64_t> of(ranges_.size());
    std::iota(of.begin(), of.end(), int64_t{0});
    for (size_t scope = scopes_.size(); scope-- > 0;) {
      if (by[scope] == scope) continue;
      const std::vector<int64_t>& own = scopes_[scope].numbers;
      size_t last = by[scope];
      while (by[last] != last) last = by[last];
      for (size_t i = 0; i < own.size(); ++i) of[static_cast<size_t>(own[i])] = scopes_[last].numbers[i];
    }
    return of;
  }

 private:
  /// So many scopes of the same order are looked at, from the last one back, and so many outer requests that
  /// come or go between two.
  static constexpr std::ptrdiff_t kLookBack = 4, kMostBetween = 64;

  void find_inner() {
    const auto& events = requests_.events();
    const auto& begins = requests_.scopes();
    std::vector<int64_t> place(ranges_.size(), -1);
    for (size_t scope = 0; scope < scopes_.size(); ++scope) {
      const auto begin = static_cast<int64_t>(begins[scope]), end = end_of(scope);
      InnerRequests& inner = scopes_[scope];
      for (int64_t i = begin; i < end; ++i) {
        const MemoryRequests::Event& event = events[static_cast<size_t>(i)];
        const LiveRange& range = range_of(event.number);
        if (range.begin < begin || range.end >= end) continue;
        int64_t& own = place[static_cast<size_t>(event.number)];
        if (event.bytes > 0) {
          own = std::ssize(inner.numbers);
          inner.numbers.push_back(event.number);
        }
        inner.order.push_back(event.bytes > 0 ? 1 : ~own);
      }
    }
    for (const MemoryRequests::Event& event : events) {
      if (place[static_cast<size_t>(event.number)] < 0)
        (event.bytes > 0 ? come_ : go_).push_back(event.number);
    }
  }

  bool find_keeper(const std::vector<size_t>& alike, size_t scope, std::vector<size_t>& by) const {
    for (std::ptrdiff_t back = 1; back <= std::min(std::ssize(alike), kLookBack); ++back) {
      const size_t before = *(alike.end() - back);
      if (!later_lies_in_earlier(before, scope)) continue;
      by[scope] = before;
      return true;
    }
    return false;
  }

  bool no_larger(size_t scope, size_t other) const {
    const std::vector<int64_t>&own = scopes_[scope].numbers, &others = scopes_[other].numbers;
    return std::equal(own.begin(), own.end(), others.begin(),
                      [&](int64_t a, int64_t b) { return range_of(a).bytes <= range_of(b).bytes; });
  }

  /// An outer request that meets a request of the earlier scope meets that of the later one too, unless it
  /// goes before that one comes.
  bool earlier_lies_in_later(size_t earlier, size_t later) const {
    if (!no_larger(earlier, later)) return false;
    const auto ends = [&](int64_t event) {
      return std::partition_point(go_.begin(), go_.end(),
                                  [&](int64_t number) { return range_of(number).end < event; });
    };
    const auto begin = ends(begin_of(earlier)), end = ends(end_of(later));
    if (end - begin > kMostBetween) return false;
    return std::none_of(begin, end, [&](int64_t number) {
      const LiveRange& outer = range_of(number);
      return any_pair(earlier, later, [&](const LiveRange& first, const LiveRange& second) {
        return outer.meets(first) && outer.end <= second.begin;
      });
    });
  }

  /// One that meets a request of the later scope meets that of the earlier one too, unless it comes after
  /// that one has gone.
  bool later_lies_in_earlier(size_t earlier, size_t later) const {
    if (!no_larger(later, earlier)) return false;
    const auto begins = [&](int64_t event) {
      return std::partition_point(come_.begin(), come_.end(),
                                  [&](int64_t number) { return range_of(number).begin < event; });
    };
    const auto begin = begins(begin_of(earlier)), end = begins(end_of(later));
    if (end - begin > kMostBetween) return false;
    return std::none_of(begin, end, [&](int64_t number) {
      const LiveRange& outer = range_of(number);
      return any_pair(earlier, later, [&](const LiveRange& first, const LiveRange& second) {
        return outer.meets(second) && outer.begin >= first.end;
      });
    });
  }

  template <typename Test>
  bool any_pair(size_t earlier, size_t later, const Test& test) const {
    const std::vector<int64_t>&first = scopes_[earlier].numbers, &second = scopes_[later].numbers;
    for (size_t i = 0; i < first.size(); ++i) {
      if (test(range_of(first[i]), range_of(second[i]))) return true;
    }
    return false;
  }

  const LiveRange& range_of(int64_t number) const { return ranges_[static_cast<size_t>(number)]; }
  int64_t begin_of(size_t scope) const { return static_cast<int64_t>(requests_.scopes()[scope]); }
  /// Where the next one begins, or the next pass.
  int64_t end_of(size_t scope) const {
    const int64_t next = scope + 1 < scopes_.size() ? begin_of(scope + 1) : std::ssize(requests_.events());
    const std::vector<size_t>& passes = requests_.passes();
    const auto pass = std::upper_bound(passes.begin(), passes.end(), requests_.scopes()[scope]);
    return pass == passes.end() ? next : std::min(next, static_cast<int64_t>(*pass));
  }

  const MemoryRequests& requests_;
  const std::vector<LiveRange> ranges_;
  std::vector<InnerRequests> scopes_;
  std::vector<int64_t> come_, go_;  ///< outer requests, in the order in which they come and in which they go
};

/// By request the one that it repeats, or itself. Throws std::logic_error where one is no repeat of it.
std::vector<int64_t> repeated_of(const MemoryRequests& requests) {
  std::vector<int64_t> of(static_cast<size_t>(requests.count()));
  std::iota(of.begin(), of.end(), int64_t{0});
  const auto& events = requests.events();
  // Events of the column that is repeated are those of its requests, from the first on.
  std::vector<size_t> asked(of.size());
  for (size_t i = 0; i < events.size(); ++i) {
    if (events[i].bytes > 0) asked[static_cast<size_t>(events[i].number)] = i;
  }
  for (const MemoryRequests::Repeat& repeat : requests.repeats()) {
    if (repeat.first_event == repeat.end_event) continue;
    const size_t before = asked[static_cast<size_t>(repeat.of)];
    for (size_t i = repeat.first_event; i < repeat.end_event; ++i) {
      const MemoryRequests::Event &own = events[i], &other = events[before + (i - repeat.first_event)];
      if (own.number < repeat.first || own.bytes != other.bytes ||
          own.number - repeat.first != other.number - repeat.of)
        throw std::logic_error("a column of tiles asks for other memory than the one that it repeats");
      of[static_cast<size_t>(own.number)] = other.number;
    }
  }
  return of;
}

/// Those that stand for themselves. Scopes of repeats are left out.
Distinct only_own(const MemoryRequests& requests, const std::vector<int64_t>& of) {
  Distinct own{{}, std::vector<int64_t>(of.size(), -1)};
  auto scope = requests.scopes().begin();
  auto repeat = requests.repeats().begin();
  auto pass = requests.passes().begin();
  for (size_t i = 0; i <= requests.events().size(); ++i) {
    while (repeat != requests.repeats().end() && repeat->end_event <= i) ++repeat;
    for (; pass != requests.passes().end() && *pass == i; ++pass) own.requests.begin_pass();
    const bool repeats = repeat != requests.repeats().end() && repeat->first_event <= i;
    for (; scope != requests.scopes().end() && *scope == i; ++scope) {
      if (!repeats) own.requests.begin_scope();
    }
    if (i == requests.events().size()) break;
    const MemoryRequests::Event& event = requests.events()[i];
    const auto number = static_cast<size_t>(event.number);
    if (of[number] != event.number) continue;
    if (event.bytes == 0) {
      own.requests.hand_back(own.of[number]);
      continue;
    }
    MemoryRequests::Series series = event.series;
    if (series.before >= 0)
      series.before = own.of[static_cast<size_t>(of[static_cast<size_t>(series.before)])];
    own.of[number] = own.requests.ask(event.bytes, series, event.movable);
  }
  for (size_t i = 0; i < of.size(); ++i) own.of[i] = own.of[static_cast<size_t>(of[i])];
  return own;
}

}  // namespace

Distinct distinct_of(const MemoryRequests& requests) {
  const auto undominated = [](const MemoryRequests& some) {
    return only_own(some, Domination(some).representatives());
  };
  if (requests.repeats().empty()) return undominated(requests);
  const Distinct unrepeated = only_own(requests, repeated_of(requests));
  Distinct distinct = undominated(unrepeated.requests);
  std::vector<int64_t> of = unrepeated.of;
  for (int64_t& number : of) number = distinct.of[static_cast<size_t>(number)];
  return {std::move(distinct.requests), std::move(of)};
}

}  // namespace headroom
