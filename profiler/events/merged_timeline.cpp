#include "profiler/events/merged_timeline.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace headroom::profiler {
namespace {

/// The decode's events in the host's order, at the times at which the device reaches them.
class OwnTimes {
 public:
  OwnTimes(const std::vector<DeviceEvent>& events, const ScopeTimes& times) : events_(events) {
    std::vector<std::pair<int64_t, size_t>> order;
    for (size_t i = 0; i < events.size(); ++i) {
      if (const auto* scope = std::get_if<ScopeBegan>(&events[i])) order.emplace_back(scope->at_ns, i);
      if (const auto* taken = std::get_if<Allocated>(&events[i])) order.emplace_back(taken->at_ns, i);
      if (const auto* freed = std::get_if<Freed>(&events[i])) order.emplace_back(freed->at_ns, i);
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    if (!order.empty()) now_ = order.front().first;
    for (const auto& [at_ns, event] : order) {
      if (std::holds_alternative<ScopeBegan>(events[event])) {
        end_scope(at_ns);
        scope_ = event;
        span_ = times.span_of(std::get<ScopeBegan>(events[event]).scope);
        append(TimelineEntry::What::scope_begins, event, span_ != nullptr ? span_->begin_ns : at_ns);
      } else if (std::holds_alternative<Allocated>(events[event])) {
        append(TimelineEntry::What::allocated, event, span_ != nullptr ? now_ : at_ns);
      } else {
        append(TimelineEntry::What::freed, event, span_ != nullptr ? span_->end_ns : at_ns);
      }
    }
    end_scope(now_);
  }

  std::vector<TimelineEntry> take() { return std::move(list_); }

 private:
  void end_scope(int64_t at_ns) {
    if (!scope_) return;
    if (std::get<ScopeBegan>(events_[*scope_]).step >= 0)
      append(TimelineEntry::What::step_ends, *scope_, span_ != nullptr ? span_->end_ns : at_ns);
    scope_.reset();
  }
  /// Keeps times non-decreasing, since the device executes work in submission order.
  void append(TimelineEntry::What what, size_t event, int64_t at_ns) {
    now_ = std::max(now_, at_ns);
    list_.push_back({now_, 1, what, event});
  }

  const std::vector<DeviceEvent>& events_;
  std::vector<TimelineEntry> list_;
  std::optional<size_t> scope_;
  const ScopeTimes::Span* span_ = nullptr;
  int64_t now_ = 0;
};

/// Adds the driver's events at the driver's times.
void add_driver(const std::vector<DeviceEvent>& events, std::vector<TimelineEntry>& list) {
  for (size_t i = 0; i < events.size(); ++i) {
    const auto add = [&](int64_t at_ns, bool gives) {
      list.push_back({at_ns, gives ? 0 : 3, TimelineEntry::What::ledger, i});
    };
    if (const auto* segment = std::get_if<SegmentChanged>(&events[i]))
      add(segment->at_ns, segment->bytes > 0);
    if (const auto* change = std::get_if<DriverMemoryChanged>(&events[i]))
      add(change->at_ns, change->bytes > 0);
    if (const auto* pool = std::get_if<DriverPoolChanged>(&events[i])) add(pool->at_ns, true);
    if (const auto* counted = std::get_if<DriverCounted>(&events[i]))
      list.push_back({counted->at_ns, 2, TimelineEntry::What::counted, i});
  }
}

}  // namespace

std::vector<TimelineEntry> merged_timeline_of(const std::vector<DeviceEvent>& events,
                                              const ScopeTimes& times) {
  std::vector<TimelineEntry> list = OwnTimes(events, times).take();
  add_driver(events, list);
  std::stable_sort(list.begin(), list.end(), [](const TimelineEntry& a, const TimelineEntry& b) {
    return a.at_ns != b.at_ns ? a.at_ns < b.at_ns : a.rank < b.rank;
  });
  return list;
}

namespace {

/// The stream with the most kernel time. Copies on other streams overlap other steps.
int32_t stream_of_kernels(const std::vector<DeviceEvent>& events) {
  std::map<int32_t, double> spent_ns;
  for (const DeviceEvent& event : events) {
    const auto* activity = std::get_if<DeviceActivity>(&event);
    if (activity != nullptr && activity->kind == ActivityKind::kernel)
      spent_ns[activity->stream] += double(activity->end_ns) - double(activity->begin_ns);
  }
  const auto most = std::max_element(spent_ns.begin(), spent_ns.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == spent_ns.end() ? -1 : most->first;
}

}  // namespace

ScopeTimes::ScopeTimes(const std::vector<DeviceEvent>& events) {
  std::unordered_map<uint64_t, const ScopeBegan*> by_id;
  for (size_t i = 0; i < events.size(); ++i) {
    const auto* scope = std::get_if<ScopeBegan>(&events[i]);
    if (scope == nullptr) continue;
    scopes_.push_back(i);
    by_id[static_cast<uint64_t>(scope->scope)] = scope;
  }
  const auto began = [&](size_t i) { return std::get<ScopeBegan>(events[i]).at_ns; };
  std::stable_sort(scopes_.begin(), scopes_.end(), [&](size_t a, size_t b) { return began(a) < began(b); });
  for (const DeviceEvent& event : events) {
    const auto* call = std::get_if<ScopeOfCall>(&event);
    if (call == nullptr) continue;
    const auto scope = by_id.find(static_cast<uint64_t>(call->scope));
    if (scope != by_id.end()) calls_.push_back({call->correlation, scope->second});
  }
  std::stable_sort(calls_.begin(), calls_.end(), [](const Call& a, const Call& b) {
    return a.correlation != b.correlation ? a.correlation < b.correlation : a.scope->at_ns < b.scope->at_ns;
  });
  const int32_t stream = stream_of_kernels(events);
  for (const DeviceEvent& event : events) {
    const auto* activity = std::get_if<DeviceActivity>(&event);
    if (activity == nullptr || activity->stream != stream) continue;
    const ScopeBegan* scope = scope_of(*activity);
    if (scope == nullptr) continue;
    const auto [entry, is_new] =
        spans_.try_emplace(static_cast<uint64_t>(scope->scope), Span{activity->begin_ns, activity->end_ns});
    if (is_new) continue;
    entry->second.begin_ns = std::min(entry->second.begin_ns, activity->begin_ns);
    entry->second.end_ns = std::max(entry->second.end_ns, activity->end_ns);
  }
}

const ScopeBegan* ScopeTimes::scope_of(const DeviceActivity& activity) const {
  const auto first =
      std::lower_bound(calls_.begin(), calls_.end(), activity.correlation,
                       [](const Call& call, uint32_t number) { return call.correlation < number; });
  if (first == calls_.end() || first->correlation != activity.correlation) return nullptr;
  const auto after = std::partition_point(first, calls_.end(), [&](const Call& call) {
    return call.correlation == activity.correlation && call.scope->at_ns <= activity.begin_ns;
  });
  return after == first ? first->scope : std::prev(after)->scope;
}

const ScopeTimes::Span* ScopeTimes::span_of(ScopeId scope) const {
  const auto found = spans_.find(static_cast<uint64_t>(scope));
  return found == spans_.end() ? nullptr : &found->second;
}

}  // namespace headroom::profiler
