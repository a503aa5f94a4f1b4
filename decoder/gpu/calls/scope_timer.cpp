#include "decoder/gpu/calls/scope_timer.h"

#include <type_traits>

namespace headroom::gpu {

const char* name_of(TimeScope scope) {
  switch (scope) {
    case TimeScope::convolution:
      return "convolution";
    case TimeScope::attention:
      return "attention";
    case TimeScope::elementwise:
      return "elementwise";
    case TimeScope::waiting:
      return "waiting";
    case TimeScope::copies:
      return "copies";
  }
  return "";
}

TimeScope scope_of(const Call& call) {
  return std::visit(
      [](const auto& one) {
        using T = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<T, Convolve>) return TimeScope::convolution;
        constexpr bool kAttention = std::is_same_v<T, Attend> || std::is_same_v<T, AddKeyValueSums> ||
                                    std::is_same_v<T, LinearAttention>;
        return kAttention ? TimeScope::attention : TimeScope::elementwise;
      },
      call);
}

namespace {

/// Queued marks beyond which finished intervals are added up.
constexpr size_t kMarks = 256;

}  // namespace

void ScopeTimer::drop() {
  for (const Mark& mark : marks_) stamps_.forget(mark.at);
  for (const CopyMark& copy : copies_) {
    stamps_.forget(copy.begun);
    stamps_.forget(copy.done);
  }
  marks_.clear();
  copies_.clear();
}

void ScopeTimer::restart() {
  drop();
  seconds_ = {};
}

void ScopeTimer::compute(TimeScope scope) {
  if (!marks_.empty() && marks_.back().scope == scope) return;
  marks_.push_back({stamps_.stamp(Stream::compute), scope});
  if (marks_.size() > kMarks) settle();
}

void ScopeTimer::end_copy(Stream stream, Stamps::Stamp begun) {
  copies_.push_back({begun, stamps_.stamp(stream)});
  if (copies_.size() > kMarks) settle();
}

void ScopeTimer::settle() {
  while (marks_.size() > 1 && stamps_.passed(marks_[1].at)) {
    of(marks_[0].scope) += stamps_.seconds_between(marks_[0].at, marks_[1].at);
    stamps_.forget(marks_[0].at);
    marks_.pop_front();
  }
  while (!copies_.empty() && stamps_.passed(copies_.front().done)) {
    of(TimeScope::copies) += stamps_.seconds_between(copies_.front().begun, copies_.front().done);
    stamps_.forget(copies_.front().begun);
    stamps_.forget(copies_.front().done);
    copies_.pop_front();
  }
}

ScopeSeconds ScopeTimer::seconds() {
  compute(TimeScope::waiting);  // closes the current interval
  settle();
  return seconds_;
}

}  // namespace headroom::gpu
