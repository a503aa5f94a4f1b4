#include "profiler/events/scope_times.h"

#include <algorithm>
#include <map>

namespace headroom::profiler {
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
