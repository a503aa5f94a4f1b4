#include "profiler/events/activity_list.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

namespace headroom::profiler {
namespace {

/// Numbers activity names. There are few kernel names; beyond the limit, names share "others".
class Names {
 public:
  explicit Names(std::vector<std::string>& list) : list_(list) {}
  int32_t of(const std::string& name) {
    constexpr size_t kMost = 10'000;
    const bool another = list_.size() >= kMost && !numbers_.contains(name);
    const auto [entry, is_new] =
        numbers_.try_emplace(another ? "others" : name, static_cast<int32_t>(list_.size()));
    if (is_new) list_.push_back(entry->first);
    return entry->second;
  }

 private:
  std::vector<std::string>& list_;
  std::unordered_map<std::string, int32_t> numbers_;
};

}  // namespace

void add_activities(const std::vector<DeviceEvent>& events, const ScopeTimes& times,
                    const std::function<double(int64_t at_ns)>& seconds, const TraceBounds& bounds,
                    Trace& trace) {
  std::vector<const DeviceActivity*> order;
  for (const DeviceEvent& event : events) {
    const auto* activity = std::get_if<DeviceActivity>(&event);
    if (activity != nullptr && seconds(activity->begin_ns) >= 0) order.push_back(activity);
  }
  std::stable_sort(order.begin(), order.end(), [](const DeviceActivity* a, const DeviceActivity* b) {
    return a->begin_ns < b->begin_ns;
  });
  Names names(trace.activity_names);
  std::map<std::pair<int32_t, int32_t>, double> by_step;
  for (const DeviceActivity* activity : order) {
    TraceActivity one{.begin_seconds = seconds(activity->begin_ns),
                      .end_seconds = seconds(std::max(activity->begin_ns, activity->end_ns)),
                      .bytes = activity->bytes,
                      .stream = activity->stream,
                      .kind = activity->kind};
    if (const ScopeBegan* scope = times.scope_of(*activity)) {
      one.pass = scope->pass;
      one.tile = scope->tile;
      one.step = scope->step;
      by_step[{one.pass, one.step}] += one.end_seconds - one.begin_seconds;
    } else {
      ++trace.activities_of_no_step;
    }
    trace.seconds = std::max(trace.seconds, one.end_seconds);
    if (trace.activities.size() >= bounds.activities) {
      ++trace.activities_left_out;
      continue;
    }
    one.name = names.of(activity->name);
    trace.activities.push_back(one);
  }
  for (TraceStepSum& sum : trace.step_sums) {
    const auto found = by_step.find({sum.pass, sum.step});
    if (found != by_step.end()) sum.device_seconds = found->second;
  }
}

}  // namespace headroom::profiler
