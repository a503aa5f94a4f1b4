#include <algorithm>
#include <array>
#include <unordered_map>

#include "reports/figures/timeline.h"

namespace headroom::reports {
namespace {

/// Events between two checkpoints. Replaying this many takes no noticeable time.
constexpr size_t kReplayedEvents = 4096;
constexpr auto kOutside = static_cast<size_t>(MemoryKind::outside);
constexpr double kHalfMicrosecond = 0.51e-6;  ///< timestamps are rounded to microseconds

/// The first event that sums up several allocations. Single allocations may share its microsecond. They have
/// a layer, and sums do not.
size_t first_sum(const Trace& trace) {
  const std::vector<TraceEvent>& events = trace.events;
  if (trace.summed_by_step_from_seconds < 0) return events.size();
  const double from = trace.summed_by_step_from_seconds - kHalfMicrosecond;
  const auto in_time =
      std::lower_bound(events.begin(), events.end(), from,
                       [](const TraceEvent& e, double seconds) { return e.seconds < seconds; });
  const auto single = std::find_if(events.rbegin(), events.rend(),
                                   [](const TraceEvent& e) { return e.layer != TensorId{-1}; });
  return static_cast<size_t>(std::max(in_time, single.base()) - events.begin());
}

/// Bytes by kind and layer.
class RecordedLive {
 public:
  void add(const TraceEvent& event) {
    add(event.kind, event.layer, event.bytes);
    if (event.slack_bytes != 0) add(MemoryKind::slack, TensorId{-1}, event.slack_bytes);
  }
  size_t size() const { return bytes_.size(); }

  /// Entries by layer. If layers are unknown, or a layer's sum is negative, its kind becomes a single entry.
  std::vector<LiveEntry> entries(const std::vector<std::string>& layers, bool layers_known) const {
    std::array<int64_t, kEventKinds> sums{};
    std::array<bool, kEventKinds> by_layer;
    by_layer.fill(layers_known);
    for (const auto& [key, bytes] : bytes_) {
      sums[key % kEventKinds] += bytes;
      if (bytes < 0) by_layer[key % kEventKinds] = false;
    }
    std::vector<LiveEntry> entries;
    for (const auto& [key, bytes] : bytes_) {
      const size_t kind = key % kEventKinds, layer = key / kEventKinds;
      const auto memory_kind = static_cast<MemoryKind>(kind);
      if (by_layer[kind])
        entries.push_back({layer == 0 ? title_of(memory_kind) : layers[layer - 1], memory_kind, bytes});
    }
    for (size_t kind = 0; kind < kEventKinds; ++kind) {
      const auto memory_kind = static_cast<MemoryKind>(kind);
      if (!by_layer[kind]) entries.push_back({title_of(memory_kind), memory_kind, sums[kind]});
    }
    return entries;
  }

 private:
  void add(MemoryKind kind, TensorId of_layer, int64_t bytes) {
    const size_t layer = static_cast<size_t>(static_cast<int64_t>(of_layer) + 1);
    const auto found = bytes_.try_emplace(layer * kEventKinds + static_cast<size_t>(kind), 0).first;
    found->second += bytes;
    if (found->second == 0) bytes_.erase(found);
  }

  std::unordered_map<size_t, int64_t> bytes_;  ///< layer -1 comes first
};

/// State of the trace at one moment of the timeline.
struct EventMoment {
  uint32_t events = 0;  ///< number of events up to this moment
  int64_t outside_bytes = 0;
};

/// Finds the live entries at any moment by replaying events from the preceding checkpoint.
class Replay {
 public:
  Replay(DocumentPtr document, std::vector<EventMoment> moments)
      : document_(std::move(document)),
        moments_(std::move(moments)),
        first_sum_(first_sum(recorded().trace)) {
    const std::vector<TraceEvent>& events = recorded().trace.events;
    RecordedLive live;
    size_t since = 0;
    for (size_t i = 0; i < events.size(); ++i) {
      // A checkpoint of n entries follows at least n events. So all checkpoints together are no larger than
      // the trace.
      if (i == 0 || since >= std::max(kReplayedEvents, live.size())) {
        checkpoints_.push_back({i, live});
        since = 0;
      }
      live.add(events[i]);
      ++since;
    }
  }

  std::vector<LiveEntry> live_set(size_t i) const {
    const EventMoment& moment = moments_[i];
    std::vector<LiveEntry> entries =
        live_after(moment.events).entries(recorded().layers, moment.events <= first_sum_);
    entries.push_back({title_of(MemoryKind::outside), MemoryKind::outside, moment.outside_bytes});
    return by_size(entries);
  }

 private:
  struct Checkpoint {
    size_t events;  ///< number of events before the checkpoint
    RecordedLive live;
  };

  const RecordedTrace& recorded() const { return std::get<RecordedTrace>(document_->contents); }

  RecordedLive live_after(size_t events) const {
    const auto next = std::upper_bound(
        checkpoints_.begin(), checkpoints_.end(), events,
        [](size_t count, const Checkpoint& checkpoint) { return count < checkpoint.events; });
    if (next == checkpoints_.begin()) return {};
    const Checkpoint& before = *std::prev(next);
    RecordedLive live = before.live;
    for (size_t i = before.events; i < events; ++i) live.add(recorded().trace.events[i]);
    return live;
  }

  DocumentPtr document_;
  std::vector<EventMoment> moments_;
  size_t first_sum_;
  std::vector<Checkpoint> checkpoints_;
};

}  // namespace

Timeline measured_timeline(DocumentPtr document) {
  const RecordedTrace& recorded = std::get<RecordedTrace>(document->contents);
  const Trace& trace = recorded.trace;
  const size_t sums = first_sum(trace);
  std::vector<double> seconds;
  std::vector<MemoryUse> use;
  std::vector<EventMoment> moments;
  const size_t most = trace.events.size() + trace.outside.size();
  seconds.reserve(most);
  use.reserve(most);
  moments.reserve(most);
  MemoryUse now{};
  size_t event = 0, sample = 0;
  const auto moment = [&](double at) {
    seconds.push_back(at);
    use.push_back(now);
    moments.push_back({static_cast<uint32_t>(event), now[kOutside]});
  };
  while (event < trace.events.size() || sample < trace.outside.size()) {
    const bool looked =
        event == trace.events.size() ||
        (sample < trace.outside.size() && trace.outside[sample].seconds < trace.events[event].seconds);
    if (looked) {
      now[kOutside] = trace.outside[sample].bytes;
      moment(trace.outside[sample++].seconds);
      continue;
    }
    // Sums of one moment come as one event per kind. Intermediate states never existed, so they are added
    // together.
    bool goes_on = true;
    while (goes_on) {
      const TraceEvent& one = trace.events[event++];
      now[static_cast<size_t>(one.kind)] += one.bytes;
      now[static_cast<size_t>(MemoryKind::slack)] += one.slack_bytes;
      goes_on = event > sums && event < trace.events.size() && trace.events[event].seconds == one.seconds &&
                trace.events[event].kind > one.kind;
    }
    moment(trace.events[event - 1].seconds);
  }
  if (seconds.empty()) moment(0);
  std::vector<Span> passes;
  const double offset = trace.rank ? trace.rank->clock_offset_seconds : 0;
  for (double& at : seconds) at += offset;
  for (const TraceInterval& pass : trace.passes)
    passes.push_back({offset + pass.begin_seconds, offset + pass.end_seconds,
                      recorded.pass_names[static_cast<size_t>(pass.pass)]});
  const double asked_last = trace.driver.empty() ? 0 : trace.driver.back().seconds;
  const double end = std::max({offset + trace.seconds, seconds.back(), offset + asked_last});
  std::vector<DriverSample> driver = trace.driver;
  for (DriverSample& asked : driver) asked.seconds += offset;
  std::vector<Span> waits;
  if (trace.rank) {
    for (const TraceExchange& call : trace.rank->calls) {
      if (call.call != ExchangeCall::post)
        waits.push_back({offset + call.begin_seconds, offset + call.end_seconds, name_of(call.call)});
    }
  }
  const auto replay = std::make_shared<const Replay>(std::move(document), std::move(moments));
  return TimelineData{.seconds = std::move(seconds),
                      .use = std::move(use),
                      .end_seconds = end,
                      .limit_bytes = trace.limit_bytes,
                      .passes = std::move(passes),
                      .live = [replay](size_t i) { return replay->live_set(i); },
                      .driver = std::move(driver),
                      .waits = std::move(waits)};
}

}  // namespace headroom::reports
