#include "decoder/gpu/pass_requests.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace headroom {
namespace {

/// The requests of a pass, numbered anew.
class Renumbered {
 public:
  explicit Renumbered(PassRequests& own) : own_(own) {}

  void ask(size_t number, int64_t bytes, MemoryRequests::Series series) {
    series.before = series.before < 0 ? -1 : number_of(static_cast<size_t>(series.before));
    numbers_[number] = own_.requests.ask(bytes, series);
    own_.numbers.push_back(number);
  }
  void hand_back(size_t number) { own_.requests.hand_back(number_of(number)); }
  /// -1 for one that the pass does not know.
  int64_t number_of(size_t number) const {
    const auto found = numbers_.find(number);
    return found == numbers_.end() ? -1 : found->second;
  }

 private:
  PassRequests& own_;
  std::unordered_map<size_t, int64_t> numbers_;  ///< by that of the decode
};

/// Events of a decode that are those of a pass.
struct PassEvents {
  size_t begin = 0, end = 0;
};

class ByPass {
 public:
  explicit ByPass(const MemoryRequests& all)
      : all_(all), ranges_(live_ranges_of(all)), is_fixed_(ranges_.size(), false) {}

  std::optional<RequestsByPass> run() {
    for (size_t pass = 0; pass < all_.passes().size(); ++pass) {
      const bool last = pass + 1 == all_.passes().size();
      const PassEvents events{all_.passes()[pass], last ? all_.events().size() : all_.passes()[pass + 1]};
      if (!find_fixed(events)) return std::nullopt;
      found_.fixed_bytes.push_back(fixed_bytes_);
      const PassRequests& own = found_.passes.emplace_back(requests_of(events));
      standing_.clear();
      for (const size_t number : own.numbers) {
        if (outlives(number, events)) standing_.push_back(number);
      }
    }
    return std::move(found_);
  }

 private:
  bool outlives(size_t number, const PassEvents& events) const {
    return ranges_[number].end >= static_cast<int64_t>(events.end);
  }

  /// False where something fixed comes too late.
  bool find_fixed(const PassEvents& events) {
    const bool first = standing_.empty() && static_cast<int64_t>(events.begin) >= fixed_end_;
    if (first) fixed_bytes_ = 0;
    for (size_t i = events.begin; i < events.end; ++i) {
      const MemoryRequests::Event& event = all_.events()[i];
      const auto number = static_cast<size_t>(event.number);
      if (event.bytes == 0 || event.movable || !outlives(number, events)) continue;
      if (!first) return false;
      is_fixed_[number] = true;
      found_.fixed.numbers.push_back(number);
      found_.fixed.offsets.push_back(fixed_bytes_);
      fixed_bytes_ += event.bytes;
      fixed_end_ = std::max(fixed_end_, ranges_[number].end);
    }
    return true;
  }

  PassRequests requests_of(const PassEvents& events) const {
    PassRequests own;
    own.begin = events.begin;
    Renumbered renumbered(own);
    for (const size_t number : standing_) renumbered.ask(number, ranges_[number].bytes, {});
    own.standing = own.numbers.size();
    auto scope = std::lower_bound(all_.scopes().begin(), all_.scopes().end(), events.begin);
    for (size_t i = events.begin; i < events.end; ++i) {
      for (; scope != all_.scopes().end() && *scope <= i; ++scope) own.requests.begin_scope();
      const MemoryRequests::Event& event = all_.events()[i];
      const auto number = static_cast<size_t>(event.number);
      if (is_fixed_[number]) continue;
      if (event.bytes > 0)
        renumbered.ask(number, event.bytes, event.series);
      else
        renumbered.hand_back(number);
    }
    own.ranges = live_ranges_of(own.requests);
    own.live_bytes = most_live_bytes(own.requests, own.ranges);
    return own;
  }

  const MemoryRequests& all_;
  const std::vector<LiveRange> ranges_;
  std::vector<bool> is_fixed_;
  std::vector<size_t> standing_;  ///< what can be moved between the last pass and the next
  int64_t fixed_bytes_ = 0;       ///< of the micro-batch
  int64_t fixed_end_ = 0;         ///< the event with which the last of it goes
  RequestsByPass found_;
};

}  // namespace

std::optional<RequestsByPass> by_pass(const MemoryRequests& all) {
  return ByPass(all).run();
}

}  // namespace headroom
