#include "decoder/trace/trace_builder.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace headroom {
namespace {

constexpr auto kSlack = static_cast<size_t>(MemoryKind::slack);

/// Bytes that the decode itself allocated. On a GPU, only these show a peak, because the reservation has a
/// constant size.
int64_t asked_for(const KindBytes& bytes) {
  return std::accumulate(bytes.begin(), bytes.begin() + kDecodeKinds, int64_t{0});
}

}  // namespace

TraceBounds bounds_of_rank(int32_t ranks) {
  TraceBounds bounds;
  for (size_t* most : {&bounds.single_events, &bounds.events, &bounds.tiles, &bounds.steps, &bounds.outside,
                       &bounds.activities, &bounds.exchanges, &bounds.places})
    *most = std::max<size_t>(1000, *most / static_cast<size_t>(std::max(1, ranks)));
  return bounds;
}

Trace TraceBuilder::finish(double at) {
  end_pass();
  sum_up(at);
  finish_places(at);
  trace_.seconds = at;
  for (const auto& entry : step_sums_) trace_.step_sums.push_back(entry.second);
  return std::move(trace_);
}

void TraceBuilder::pass_started(double at, int32_t pass) {
  begin_pass(at, pass);
}

void TraceBuilder::tile_started(double at, int32_t pass, int64_t tile) {
  if (!in_pass_ || pass_.pass != pass || (tile == 0 && pass_has_tiles_)) begin_pass(at, pass);
  pass_has_tiles_ = true;
  tile_ = {.begin_seconds = at, .end_seconds = at, .pass = pass, .tile = tile};
  in_tile_ = true;
}

void TraceBuilder::step_done(double at, const Plan& plan, const TraceInterval& step) {
  // The start of the pass may not have been reported.
  if (!in_pass_ || pass_.pass != step.pass) begin_pass(step.begin_seconds, step.pass);
  pass_.item = tile_.item = step.item;
  pass_.end_seconds = tile_.end_seconds = at;
  if (trace_.steps.size() < bounds_.steps) {
    trace_.steps.push_back(step);
  } else {
    ++trace_.steps_left_out;
  }
  TraceStepSum& total =
      step_sums_.try_emplace({step.pass, step.step}, TraceStepSum{.pass = step.pass, .step = step.step})
          .first->second;
  ++total.calls;
  total.seconds += step.end_seconds - step.begin_seconds;
  if (detail_ == Detail::steps) sum_up(at);
  const size_t steps = plan.passes[static_cast<size_t>(step.pass)].steps.size();
  if (static_cast<size_t>(step.step) + 1 < steps || !in_tile_) return;
  if (trace_.tiles.size() < bounds_.tiles) {
    trace_.tiles.push_back(tile_);
  } else {
    ++trace_.tiles_left_out;
  }
  in_tile_ = false;
}

void TraceBuilder::begin_pass(double at, int32_t pass) {
  end_pass();
  pass_ = {.begin_seconds = at, .end_seconds = at, .pass = pass};
  in_pass_ = true;
  pass_has_tiles_ = false;
  if (detail_ == Detail::passes) sum_up(at);
}

void TraceBuilder::end_pass() {
  if (in_pass_) trace_.passes.push_back(pass_);
  in_pass_ = in_tile_ = false;
}

/// A library allocates its result itself, so only afterwards is it known to be a tile.
void TraceBuilder::holds_tile(const void* memory) {
  const auto found = held_.find(memory);
  if (found == held_.end() || found->second.number <= step_start_) return;
  Held& held = found->second;
  const auto move = [&](KindBytes& bytes) {
    bytes[static_cast<size_t>(held.kind)] -= held.bytes;
    bytes[static_cast<size_t>(MemoryKind::tile)] += held.bytes;
  };
  move(live_);
  if (held.number <= highest_at_) move(highest_);
  if (held.event >= 0) {
    trace_.events[static_cast<size_t>(held.event)].kind = MemoryKind::tile;
    move(written_);
  }
  if (held.place >= 0) trace_.places[static_cast<size_t>(held.place)].kind = MemoryKind::tile;
  held.kind = MemoryKind::tile;
}

void TraceBuilder::allocated(double at, const void* memory, int64_t bytes, MemoryKind kind, TensorId layer) {
  const bool single = detail_ == Detail::single;
  held_[memory] = {bytes, ++allocations_, single ? static_cast<int64_t>(trace_.events.size()) : -1,
                   layer, kind,           reserved_};
  count(at, kind, bytes, layer, reserved_);
}

void TraceBuilder::placed(double at, const void* memory) {
  const auto found = held_.find(memory);
  if (found == held_.end()) return;
  if (trace_.places.size() >= bounds_.places) {
    ++trace_.places_left_out;
    return;
  }
  Held& held = found->second;
  held.place = std::ssize(trace_.places);
  trace_.places.push_back({at, at, 0, held.bytes, held.layer, pass(), held.kind});
  addresses_.push_back(reinterpret_cast<uintptr_t>(memory));
}

void TraceBuilder::finish_places(double at) {
  for (const auto& [memory, held] : held_) {
    if (held.place >= 0) trace_.places[static_cast<size_t>(held.place)].end_seconds = at;
  }
  if (addresses_.empty()) return;
  const uintptr_t lowest = *std::min_element(addresses_.begin(), addresses_.end());
  for (size_t i = 0; i < addresses_.size(); ++i)
    trace_.places[i].offset = static_cast<int64_t>(addresses_[i] - lowest);
}

void TraceBuilder::freed(double at, const void* memory) {
  const auto found = held_.find(memory);
  if (found == held_.end()) return;
  const Held& held = found->second;
  if (held.place >= 0) trace_.places[static_cast<size_t>(held.place)].end_seconds = at;
  count(at, held.kind, -held.bytes, held.layer, held.from_reserve);
  held_.erase(found);
}

void TraceBuilder::moved(double at, const void* from, const void* to) {
  auto held = held_.extract(from);
  if (held.empty()) return;
  const int64_t place = std::exchange(held.mapped().place, -1);
  held.key() = to;
  held_.insert(std::move(held));
  if (place < 0) return;
  trace_.places[static_cast<size_t>(place)].end_seconds = at;
  placed(at, to);
}

void TraceBuilder::changed(double at, MemoryKind kind, int64_t bytes) {
  if (bytes == 0) return;
  reserved_ = reserved_ || kind == MemoryKind::slack;
  count(at, kind, bytes, TensorId{-1}, false);
  sum_up(at);  // the driver's count is compared with the events at this time
}

void TraceBuilder::count(double at, MemoryKind kind, int64_t bytes, TensorId layer, bool from_reserve) {
  live_[static_cast<size_t>(kind)] += bytes;
  if (from_reserve) live_[kSlack] -= bytes;
  if (detail_ == Detail::single) {
    put(at, kind, bytes, from_reserve ? -bytes : 0, layer);
    written_ = live_;
    if (trace_.events.size() >= bounds_.single_events) {
      detail_ = Detail::steps;
      trace_.summed_by_step_from_seconds = at;
      start_highest(at);
    }
  } else if (asked_for(live_) > highest_bytes_) {
    start_highest(at);
  }
}

void TraceBuilder::start_highest(double at) {
  highest_ = live_;
  highest_bytes_ = asked_for(live_);
  highest_at_ = allocations_;
  highest_seconds_ = at;
}

void TraceBuilder::put(double at, MemoryKind kind, int64_t bytes, int64_t slack_bytes, TensorId layer) {
  const int64_t of_tile = detail_ == Detail::passes ? -1 : tile();
  trace_.events.push_back({at, bytes, of_tile, pass(), layer, kind, slack_bytes});
}

void TraceBuilder::put(const KindBytes& target, double at) {
  for (size_t kind = 0; kind < kEventKinds; ++kind) {
    const int64_t bytes = target[kind] - written_[kind];
    if (bytes != 0) put(at, static_cast<MemoryKind>(kind), bytes, 0, TensorId{-1});
  }
  written_ = target;
}

void TraceBuilder::sum_up(double at) {
  if (detail_ == Detail::single) return;
  put(highest_, highest_seconds_);
  put(live_, at);
  start_highest(at);
  if (detail_ == Detail::steps && trace_.events.size() >= bounds_.events) {
    detail_ = Detail::passes;
    trace_.summed_by_pass_from_seconds = at;
  }
}

void TraceBuilder::exchanged(double begin, double end, ExchangeCall call, int64_t sent_bytes) {
  if (!trace_.rank) trace_.rank.emplace();
  TraceRank& rank = *trace_.rank;
  rank.sent_bytes += sent_bytes;
  if (call != ExchangeCall::post) rank.waited_seconds += end - begin;
  if (rank.calls.size() < bounds_.exchanges) {
    rank.calls.push_back({begin, end, sent_bytes, pass(), call});
  } else {
    ++rank.calls_left_out;
  }
}

bool TraceBuilder::outside_is_due(double at) const {
  return trace_.outside.empty() || at - trace_.outside.back().seconds >= sample_period_seconds_;
}

void TraceBuilder::sample_outside(double at, int64_t bytes) {
  trace_.outside.push_back({at, bytes});
  if (trace_.outside.size() < bounds_.outside) return;
  // Drop every second sample and halve the sampling rate.
  size_t kept = 0;
  for (size_t i = 0; i < trace_.outside.size(); i += 2) trace_.outside[kept++] = trace_.outside[i];
  trace_.outside.resize(kept);
  sample_period_seconds_ *= 2;
}

}  // namespace headroom
