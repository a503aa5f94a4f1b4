#include "decoder/gpu/placement/memory_requests.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>

#include "decoder/base/errors.h"

namespace headroom {

int64_t MemoryRequests::ask(int64_t bytes, const Series& series, bool movable) {
  if (count_ == kMost) {
    throw InputError("the plan makes more than " + std::to_string(kMost) +
                     " allocations; expected fewer, larger tiles on CUDA");
  }
  // Reserves space for the return as well, so that hand_back() never allocates.
  if (const auto most = static_cast<size_t>(2 * count_ + 2); events_.capacity() < most)
    events_.reserve(2 * most);
  events_.push_back({bytes, count_, series, movable});
  return count_++;
}

std::vector<Buffer> live_ranges_of(const MemoryRequests& requests) {
  std::vector<Buffer> ranges(static_cast<size_t>(requests.count()), {.end = kNeverReturned});
  for (size_t i = 0; i < requests.events().size(); ++i) {
    const MemoryRequests::Event& event = requests.events()[i];
    Buffer& range = ranges[static_cast<size_t>(event.number)];
    if (event.bytes > 0) {
      range.bytes = event.bytes;
      range.begin = static_cast<int64_t>(i);
    } else {
      range.end = static_cast<int64_t>(i);
    }
  }
  return ranges;
}

int64_t most_live_bytes(const MemoryRequests& requests, const std::vector<Buffer>& ranges) {
  int64_t live = 0, most = 0;
  for (const MemoryRequests::Event& event : requests.events())
    most = std::max(most,
                    live += event.bytes > 0 ? event.bytes : -ranges[static_cast<size_t>(event.number)].bytes);
  return most;
}

namespace {

class ByPass {
 public:
  explicit ByPass(const MemoryRequests& all)
      : all_(all), ranges_(live_ranges_of(all)), is_fixed_(ranges_.size(), false) {}

  std::optional<RequestsByPass> run(const std::vector<size_t>& passes) {
    for (size_t pass = 0; pass < passes.size(); ++pass) {
      begin_ = passes[pass];
      end_ = pass + 1 < passes.size() ? passes[pass + 1] : all_.events().size();
      if (!find_fixed()) return std::nullopt;
      PassRequests own = requests_of_pass();
      standing_.clear();
      std::copy_if(own.numbers.begin(), own.numbers.end(), std::back_inserter(standing_),
                   [&](size_t number) { return outlives(number); });
      found_.live_bytes = std::max(found_.live_bytes, own.fixed_bytes + most_live_bytes(own.buffers));
      found_.passes.push_back(std::move(own));
    }
    return std::move(found_);
  }

 private:
  bool outlives(size_t number) const { return ranges_[number].end >= static_cast<int64_t>(end_); }

  /// False if a fixed request comes while blocks are live that could occupy its place.
  bool find_fixed() {
    if (begin_ == 0 && end_ == all_.events().size()) return true;
    const bool first = standing_.empty() && static_cast<int64_t>(begin_) >= fixed_end_;
    if (first) fixed_bytes_ = 0;
    for (size_t i = begin_; i < end_; ++i) {
      const MemoryRequests::Event& event = all_.events()[i];
      const auto number = static_cast<size_t>(event.number);
      if (event.bytes == 0 || event.movable || !outlives(number)) continue;
      if (!first) return false;
      is_fixed_[number] = true;
      found_.fixed.push_back({number, fixed_bytes_});
      fixed_bytes_ += event.bytes;
      fixed_end_ = std::max(fixed_end_, ranges_[number].end);
    }
    return true;
  }

  PassRequests requests_of_pass() const {
    PassRequests own;
    own.begin = begin_;
    own.standing = standing_.size();
    own.fixed_bytes = fixed_bytes_;
    std::unordered_map<int64_t, int64_t> numbers;  // numbers in the pass by numbers in the decode
    const auto ask = [&](size_t number, MemoryRequests::Series series) {
      const auto before = numbers.find(series.before);
      series.before = before == numbers.end() ? -1 : before->second;
      const auto here = std::ssize(own.numbers);
      numbers[static_cast<int64_t>(number)] = here;
      own.numbers.push_back(number);
      own.buffers.push_back({std::ssize(own.events), kNeverReturned, ranges_[number].bytes});
      own.series.push_back(series);
      own.events.push_back(here);
    };
    for (const size_t number : standing_) ask(number, {});
    for (size_t i = begin_; i < end_; ++i) {
      const MemoryRequests::Event& event = all_.events()[i];
      const auto number = static_cast<size_t>(event.number);
      if (is_fixed_[number]) continue;
      if (event.bytes > 0) {
        ask(number, event.series);
        continue;
      }
      const int64_t gone = numbers.at(event.number);
      own.buffers[static_cast<size_t>(gone)].end = std::ssize(own.events);
      own.events.push_back(~gone);
    }
    for (Buffer& buffer : own.buffers) buffer.end = std::min(buffer.end, std::ssize(own.events));
    return own;
  }

  const MemoryRequests& all_;
  const std::vector<Buffer> ranges_;
  std::vector<bool> is_fixed_;
  size_t begin_ = 0, end_ = 0;    ///< events of the pass
  std::vector<size_t> standing_;  ///< blocks that outlive the previous pass
  int64_t fixed_bytes_ = 0;       ///< size of the micro-batch's fixed requests
  int64_t fixed_end_ = 0;         ///< event that returns the micro-batch's last fixed request
  RequestsByPass found_;
};

}  // namespace

RequestsByPass as_one_pass(const MemoryRequests& all) {
  return ByPass(all).run({0}).value();
}

RequestsByPass by_pass(const MemoryRequests& all) {
  if (!all.passes().empty()) {
    if (auto found = ByPass(all).run(all.passes())) return std::move(*found);
  }
  return as_one_pass(all);
}

namespace {

/// Requests of one scope that are returned within it, and their order: 1 for a request, ~index for the return
/// of one.
struct InnerRequests {
  std::vector<int64_t> numbers;
  std::vector<int64_t> order;
};

/// Finds scopes that need no placement of their own, since they can use the offsets of another scope.
class Domination {
 public:
  explicit Domination(const MemoryRequests& requests)
      : requests_(requests), ranges_(live_ranges_of(requests)), scopes_(requests.scopes().size()) {
    find_inner();
  }

  /// By request: the request whose offset it uses.
  std::vector<int64_t> representatives() {
    std::vector<size_t> by(scopes_.size());
    std::iota(by.begin(), by.end(), size_t{0});
    std::map<std::vector<int64_t>, std::vector<size_t>> kept;  // by order
    auto pass = requests_.passes().begin();
    for (size_t scope = 0; scope < scopes_.size(); ++scope) {
      // Blocks beside the tiles of another pass may have been moved.
      for (; pass != requests_.passes().end() && *pass <= requests_.scopes()[scope]; ++pass) kept.clear();
      if (scopes_[scope].numbers.empty()) continue;
      std::vector<size_t>& alike = kept[scopes_[scope].order];
      const auto first = alike.end() - std::min(std::ssize(alike), kLookBack);
      const auto keeper =
          std::find_if(first, alike.end(), [&](size_t before) { return lies_in(scope, before); });
      if (keeper != alike.end()) {
        by[scope] = *keeper;
        continue;
      }
      const auto lies_here = [&](size_t before) {
        if (!lies_in(before, scope)) return false;
        by[before] = scope;
        return true;
      };
      alike.erase(std::remove_if(first, alike.end(), lies_here), alike.end());
      alike.push_back(scope);
    }
    std::vector<int64_t> of(ranges_.size());
    std::iota(of.begin(), of.end(), int64_t{0});
    for (size_t scope = scopes_.size(); scope-- > 0;) {
      size_t last = by[scope];
      while (by[last] != last) last = by[last];
      const std::vector<int64_t>& own = scopes_[scope].numbers;
      for (size_t i = 0; i < own.size(); ++i) of[static_cast<size_t>(own[i])] = scopes_[last].numbers[i];
    }
    return of;
  }

 private:
  /// Limits of the comparison: scopes with equal order to look back, and outer events between two scopes.
  static constexpr std::ptrdiff_t kLookBack = 4, kMostBetween = 64;

  void find_inner() {
    const auto& events = requests_.events();
    std::vector<int64_t> index(ranges_.size(), -1);
    for (size_t scope = 0; scope < scopes_.size(); ++scope) {
      const int64_t begin = begin_of(scope), end = end_of(scope);
      InnerRequests& inner = scopes_[scope];
      for (int64_t i = begin; i < end; ++i) {
        const MemoryRequests::Event& event = events[static_cast<size_t>(i)];
        const Buffer& range = range_of(event.number);
        if (range.begin < begin || range.end >= end) continue;
        int64_t& own = index[static_cast<size_t>(event.number)];
        if (event.bytes > 0) {
          own = std::ssize(inner.numbers);
          inner.numbers.push_back(event.number);
        }
        inner.order.push_back(event.bytes > 0 ? 1 : ~own);
      }
    }
    for (size_t i = 0; i < events.size(); ++i)
      if (index[static_cast<size_t>(events[i].number)] < 0) outer_events_.push_back(static_cast<int64_t>(i));
  }

  /// True if each request of `scope` is no larger than its counterpart in `other`, and every outer request
  /// that is live beside it is live beside the counterpart too. Only outer events from the first scope to the
  /// second matter: other outer requests are live beside both or neither.
  bool lies_in(size_t scope, size_t other) const {
    const std::vector<int64_t>&own = scopes_[scope].numbers, &others = scopes_[other].numbers;
    for (size_t i = 0; i < own.size(); ++i)
      if (range_of(own[i]).bytes > range_of(others[i]).bytes) return false;
    const auto begin = std::lower_bound(outer_events_.begin(), outer_events_.end(),
                                        std::min(begin_of(scope), begin_of(other)));
    const auto end = std::lower_bound(begin, outer_events_.end(), std::max(end_of(scope), end_of(other)));
    if (end - begin > kMostBetween) return false;
    return std::all_of(begin, end, [&](int64_t event) {
      const Buffer& outer = range_of(requests_.events()[static_cast<size_t>(event)].number);
      for (size_t i = 0; i < own.size(); ++i)
        if (outer.meets(range_of(own[i])) && !outer.meets(range_of(others[i]))) return false;
      return true;
    });
  }

  const Buffer& range_of(int64_t number) const { return ranges_[static_cast<size_t>(number)]; }
  int64_t begin_of(size_t scope) const { return static_cast<int64_t>(requests_.scopes()[scope]); }
  /// First event of the next scope or pass.
  int64_t end_of(size_t scope) const {
    const int64_t next = scope + 1 < scopes_.size() ? begin_of(scope + 1) : std::ssize(requests_.events());
    const std::vector<size_t>& passes = requests_.passes();
    const auto pass = std::upper_bound(passes.begin(), passes.end(), requests_.scopes()[scope]);
    return pass == passes.end() ? next : std::min(next, static_cast<int64_t>(*pass));
  }

  const MemoryRequests& requests_;
  const std::vector<Buffer> ranges_;
  std::vector<InnerRequests> scopes_;
  std::vector<int64_t> outer_events_;  ///< events of outer requests and their returns
};

/// By request: the request that it repeats, or itself. Throws std::logic_error if a marked repeat differs
/// from its original.
std::vector<int64_t> repeated_of(const MemoryRequests& requests) {
  std::vector<int64_t> of(static_cast<size_t>(requests.count()));
  std::iota(of.begin(), of.end(), int64_t{0});
  const auto& events = requests.events();
  // The original column's events start at the event of its first request.
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

/// Keeps requests that have an offset of their own. Leaves out scopes of repeats.
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
