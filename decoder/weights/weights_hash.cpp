#include "decoder/weights/weights_hash.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "decoder/base/fnv_hash.h"

namespace headroom {
namespace {

uint64_t mixed(uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33);
}

}  // namespace

struct WeightsHash::State {
  /// Sums over the bits of one parameter's elements: a plain one, and one that weights each element by its
  /// position, counted from 1.
  struct Sums {
    std::vector<Interval> read;  ///< disjoint, in order
    int64_t elements = 0;        ///< of the parameter
    uint64_t plain = 0, placed = 0;
  };
  std::mutex mutex;
  std::map<std::string, Sums> parameters;

  /// Marks `range` as read. Returns the parts that were not read before.
  static std::vector<Interval> take(std::vector<Interval>& read, Interval range) {
    const auto ends_before = [](const Interval& part, int64_t begin) { return part.end < begin; };
    const auto first = std::lower_bound(read.begin(), read.end(), range.begin, ends_before);
    std::vector<Interval> fresh;
    int64_t next = range.begin;
    auto last = first;
    for (; last != read.end() && last->begin <= range.end; ++last) {
      if (last->begin > next) fresh.push_back({next, last->begin});
      next = std::max(next, last->end);
    }
    if (next < range.end) fresh.push_back({next, range.end});
    if (first != last) range = {std::min(range.begin, first->begin), next > range.end ? next : range.end};
    read.insert(read.erase(first, last), range);
    return fresh;
  }
};

WeightsHash::WeightsHash() : state_(std::make_shared<State>()) {}

ParameterSource WeightsHash::over(ParameterSource source) const {
  return [source = std::move(source), state = state_](const Parameter& parameter, const Interval& elements,
                                                      float* out) {
    source(parameter, elements, out);
    std::vector<Interval> fresh;
    {
      const std::scoped_lock lock(state->mutex);
      State::Sums& sums = state->parameters[parameter.name];
      sums.elements = 1;
      for (const int64_t extent : parameter.shape) sums.elements *= extent;
      fresh = State::take(sums.read, elements);
    }
    uint64_t plain = 0, placed = 0;
    for (const Interval& part : fresh) {
      for (int64_t i = part.begin; i < part.end; ++i) {
        const uint64_t bits = std::bit_cast<uint32_t>(out[i - elements.begin]);
        plain += bits;
        placed += bits * static_cast<uint64_t>(i + 1);
      }
    }
    const std::scoped_lock lock(state->mutex);
    State::Sums& sums = state->parameters[parameter.name];
    sums.plain += plain;
    sums.placed += placed;
  };
}

std::string WeightsHash::text() const {
  const std::scoped_lock lock(state_->mutex);
  uint64_t hash = 0;
  for (const auto& [name, sums] : state_->parameters) {
    if (sums.read != std::vector<Interval>{{0, sums.elements}}) return "";
    const uint64_t values = mixed(sums.plain + mixed(sums.placed) + static_cast<uint64_t>(sums.elements));
    hash += mixed(fnv_hash(name) ^ values);
  }
  if (state_->parameters.empty()) return "";
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

}  // namespace headroom
