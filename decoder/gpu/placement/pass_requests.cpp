#include "decoder/gpu/placement/pass_requests.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <utility>

namespace headroom {
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

}  // namespace headroom
