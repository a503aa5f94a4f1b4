#include "profiler/events/join_events.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "decoder/trace/trace_builder.h"
#include "profiler/events/driver_ledger.h"
#include "profiler/events/merged_timeline.h"

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

// Adds the device's activities to the trace, with the step of each, and adds up device time by step. Omits
// activities that began before the trace.
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

class Joining {
 public:
  Joining(const std::vector<DeviceEvent>& events, const Plan& plan, const TraceBounds& bounds)
      : events_(events), plan_(plan), ledger_(events), trace_(bounds) {}

  void run(const std::vector<TimelineEntry>& merged_timeline) {
    if (merged_timeline.empty()) return;
    start_ns_ = merged_timeline.front().at_ns;
    for (const TimelineEntry& entry : merged_timeline) {
      at_ = seconds(entry.at_ns);
      tell(entry);
    }
  }
  double seconds(int64_t at_ns) const { return double(at_ns - start_ns_) * 1e-9; }

  Trace finish() {
    Trace trace = trace_.finish(at_);
    trace.driver = std::move(driver_);
    trace.records_lost = lost_;
    return trace;
  }

 private:
  void tell(const TimelineEntry& entry) {
    const DeviceEvent& event = events_[entry.event];
    switch (entry.what) {
      case TimelineEntry::What::ledger:
        return change_driver(entry.event);
      case TimelineEntry::What::scope_begins:
        scope_begins_ = at_;
        return begin_tile(std::get<ScopeBegan>(event));
      case TimelineEntry::What::step_ends: {
        const auto& scope = std::get<ScopeBegan>(event);
        return trace_.step_done(at_, plan_,
                                {scope_begins_, at_, scope.item, scope.pass, scope.tile, scope.step});
      }
      case TimelineEntry::What::allocated:
        return allocate(std::get<Allocated>(event));
      case TimelineEntry::What::freed:
        places_.erase(std::get<Freed>(event).address);
        return trace_.freed(at_, pointer(std::get<Freed>(event).address));
      case TimelineEntry::What::counted:
        return count(std::get<DriverCounted>(event).bytes);
    }
  }

  /// The pointer is only a key, never dereferenced.
  static const void* pointer(uint64_t address) {
    return reinterpret_cast<const void*>(static_cast<uintptr_t>(address));
  }
  int64_t live(MemoryKind kind) const { return trace_.live()[static_cast<size_t>(kind)]; }
  int64_t all() const { return std::accumulate(trace_.live().begin(), trace_.live().end(), int64_t{0}); }

  void begin_tile(const ScopeBegan& scope) {
    if (scope.step == 0 && scope.tile >= 0) return trace_.tile_started(at_, scope.pass, scope.tile);
    // Loading a pass's weights precedes its first tile.
    if (scope.step == -1 && scope.pass >= 0 && scope.pass != trace_.pass())
      trace_.pass_started(at_, scope.pass);
  }

  void allocate(const Allocated& taken) {
    // If the address is already taken, the event that freed it was lost.
    if (!places_.try_emplace(taken.address, taken.bytes).second) {
      trace_.freed(at_, pointer(taken.address));
      places_[taken.address] = taken.bytes;
      ++lost_;
    }
    if (const int64_t slack = live(MemoryKind::slack); reserved_ && slack < taken.bytes) {
      trace_.changed(at_, MemoryKind::slack, taken.bytes - slack);
      ++lost_;
    }
    trace_.allocated(at_, pointer(taken.address), taken.bytes, taken.kind, taken.layer);
  }

  void change_driver(size_t event) {
    const int64_t segments = ledger_.segment_bytes(), libraries = ledger_.library_bytes();
    if (!ledger_.apply(event)) ++lost_;
    int64_t reserved = ledger_.segment_bytes() - segments;
    if (const auto* segment = std::get_if<SegmentChanged>(&events_[event]);
        segment != nullptr && reserved < 0)
      free_places(segment->address, -reserved);
    if (live(MemoryKind::slack) + reserved < 0) {
      reserved = -live(MemoryKind::slack);
      ++lost_;
    }
    reserved_ = reserved_ || reserved > 0;
    trace_.changed(at_, MemoryKind::slack, reserved);
    trace_.changed(at_, MemoryKind::libraries, ledger_.library_bytes() - libraries);
  }

  /// Frees the allocations within a segment that goes back to the driver. Their own events were lost.
  void free_places(uint64_t begin, int64_t bytes) {
    auto place = places_.lower_bound(begin);
    while (place != places_.end() && place->first - begin < static_cast<uint64_t>(bytes)) {
      trace_.freed(at_, pointer(place->first));
      place = places_.erase(place);
      ++lost_;
    }
  }

  void count(int64_t driver_bytes) {
    const int64_t context = live(MemoryKind::context), claimed = all() - context;
    trace_.changed(at_, MemoryKind::context, std::max<int64_t>(0, driver_bytes - claimed) - context);
    driver_.push_back({at_, driver_bytes});
  }

  const std::vector<DeviceEvent>& events_;
  const Plan& plan_;
  DriverLedger ledger_;
  TraceBuilder trace_;
  std::map<uint64_t, int64_t> places_;  ///< live allocations of the decode: bytes by address
  std::vector<DriverSample> driver_;
  int64_t start_ns_ = 0, lost_ = 0;
  double at_ = 0, scope_begins_ = 0;
  bool reserved_ = false;
};

/// Counts cuMemCreate calls without a memory record. CUPTI reports some of them only as calls. Segments of
/// LibTorch's allocator explain some of these calls.
void add_unseen_calls(const std::vector<DeviceEvent>& events, std::vector<TraceSource>& sources) {
  std::set<uint32_t> calls;
  std::set<uint64_t> addresses;
  for (const DeviceEvent& event : events) {
    const auto* change = std::get_if<DriverMemoryChanged>(&event);
    if (change == nullptr) continue;
    calls.insert(change->correlation);
    addresses.insert(change->address);
  }
  int64_t unseen = 0;
  for (const DeviceEvent& event : events) {
    const auto* call = std::get_if<DriverCall>(&event);
    if (call != nullptr && call->name.rfind("cuMemCreate", 0) == 0 && !calls.contains(call->correlation))
      ++unseen;
    const auto* segment = std::get_if<SegmentChanged>(&event);
    if (segment != nullptr && segment->bytes > 0 && !addresses.contains(segment->address)) --unseen;
  }
  if (unseen <= 0) return;
  sources.push_back(
      {"cuMemCreate", false,
       std::to_string(unseen) + " calls without a memory record: their memory counts as the CUDA context's"});
}

void add_refusals(const std::vector<DeviceEvent>& events, std::vector<TraceSource>& sources) {
  const MemoryRefused* last = nullptr;
  int64_t times = 0;
  for (const DeviceEvent& event : events) {
    const auto* refused = std::get_if<MemoryRefused>(&event);
    if (refused == nullptr) continue;
    ++times;
    if (last == nullptr || refused->at_ns >= last->at_ns) last = refused;
  }
  if (times == 0) return;
  sources.push_back(
      {"refused memory", true,
       std::to_string(times) + " times LibTorch's allocator was refused memory, the last time " +
           std::to_string(last->asked_bytes) + " bytes with " + std::to_string(last->free_bytes) + " free"});
}

}  // namespace

Trace join_events(const DeviceRecording& recording, const Plan& plan, const TraceBounds& bounds) {
  const std::vector<DeviceEvent>& events = recording.events;
  const ScopeTimes times(events);
  Joining joining(events, plan, bounds);
  joining.run(merged_timeline_of(events, times));
  Trace trace = joining.finish();
  trace.model = plan.request.model;
  trace.request = plan.request;
  trace.device = recording.device;
  trace.libraries = recording.libraries;
  trace.limit_bytes = plan.limit_bytes;
  trace.by_device_clock = times.by_device();
  add_activities(
      events, times, [&](int64_t at_ns) { return joining.seconds(at_ns); }, bounds, trace);
  for (const DeviceEvent& event : events) {
    if (const auto* lost = std::get_if<RecordsLost>(&event)) trace.records_lost += lost->count;
  }
  trace.sources = recording.sources;
  add_unseen_calls(events, trace.sources);
  add_refusals(events, trace.sources);
  return trace;
}

}  // namespace headroom::profiler
