#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "decoder/graph/graph.h"
#include "decoder/plan/plan.h"
#include "profiler/events/device_events.h"
#include "profiler/events/join_events.h"
#include "tests/support/random.h"

namespace headroom::test {

struct Hearing {
  bool kernels = true;  ///< kernels, and the scope that launched each
  bool memory = true;   ///< allocations by the driver
  uint32_t first_correlation = 1000;
};

/// A simulated decode on a GPU: the events that observers report, and the true memory use.
struct CapturedDecode {
  profiler::DeviceRecording recording;
  /// Live bytes of each kind, by host time in ns. An entry is added when the bytes change or the driver's
  /// memory is counted. The context size is the one when the driver's memory was last counted.
  std::map<int64_t, KindBytes> truth;
  /// Total over all kinds. Errors of the device clock do not affect it.
  int64_t all_at(int64_t at_ns) const {
    const auto after = truth.upper_bound(at_ns);
    int64_t sum = 0;
    if (after != truth.begin()) {
      for (int64_t bytes : std::prev(after)->second) sum += bytes;
    }
    return sum;
  }
};

/// Draws a random decode that follows the plan step by step.
class DecodeMaker {
 public:
  DecodeMaker(uint64_t seed, const Plan& plan, const Hearing& hearing)
      : random_(seed), plan_(plan), hearing_(hearing), correlation_(hearing.first_correlation) {}

  CapturedDecode make() {
    count();
    take_library();
    take_segment();
    tell(profiler::Allocated{tick(), take_place(int64_t{1} << 20), int64_t{1} << 20, MemoryKind::weights});
    place_bytes_.back().kind = MemoryKind::weights;
    change(MemoryKind::weights, int64_t{1} << 20);
    for (size_t pass = 0; pass < plan_.passes.size(); ++pass) run_pass(static_cast<int32_t>(pass));
    now_ns_ = std::max({now_ns_, kernels_at_ns_, copies_at_ns_});  // the host waits for the GPU
    while (!place_bytes_.empty()) free_place(0);
    release_segment();
    count();
    captured_.recording.device = "a GPU";
    captured_.recording.libraries = "libraries";
    return std::move(captured_);
  }

 private:
  struct Place {
    uint64_t address;
    int64_t bytes;
    MemoryKind kind;
  };
  static constexpr uint64_t kSegment = 0x7f0000000000;
  static constexpr int64_t kSegmentBytes = int64_t{64} << 20;

  int64_t tick() { return now_ns_ += random_.integer(100, 5000); }
  void tell(profiler::DeviceEvent event) { captured_.recording.events.push_back(std::move(event)); }
  int64_t& of(MemoryKind kind) { return live_[static_cast<size_t>(kind)]; }
  void note() { captured_.truth[now_ns_] = live_; }
  /// Allocates or frees memory of the decode itself. The bytes come from the allocator's slack.
  void change(MemoryKind kind, int64_t bytes) {
    of(kind) += bytes;
    of(MemoryKind::slack) -= bytes;
    note();
  }

  void run_pass(int32_t pass) {
    count();
    const Pass& program = plan_.passes[static_cast<size_t>(pass)];
    const size_t tiles = program.tiles.t.size() * program.tiles.y.size() * program.tiles.x.size();
    for (size_t tile = 0; tile < tiles; ++tile) {
      for (size_t step = 0; step < program.steps.size(); ++step) {
        scope_ = profiler::ScopeId{++scopes_};
        tell(profiler::ScopeBegan{tick(), scope_, 0, pass, static_cast<int64_t>(tile),
                                  static_cast<int32_t>(step)});
        run_step(program.steps[step]);
      }
    }
    scope_ = profiler::ScopeId{++scopes_};
    tell(profiler::ScopeBegan{tick(), scope_, 0, pass, -1, -1});
  }

  void run_step(const Step& step) {
    const auto kinds = {MemoryKind::tile, MemoryKind::workspace, MemoryKind::kept};
    for (MemoryKind kind : kinds) {
      if (!random_.chance(0.6)) continue;
      const int64_t bytes = 512 * random_.integer(1, 2000);
      const uint64_t address = take_place(bytes);
      place_bytes_.back().kind = kind;
      tell(profiler::Allocated{tick(), address, bytes, kind, step.tensor});
      change(kind, bytes);
    }
    for (int64_t kernels = random_.integer(0, 3); kernels > 0; --kernels) launch();
    if (random_.chance(0.1)) take_library();
    if (random_.chance(0.1)) give_library();
    if (random_.chance(0.05)) change_pool();
    if (random_.chance(0.1)) context_bytes_ += random_.integer(0, 1 << 20);
    if (random_.chance(0.05)) count();
    while (place_bytes_.size() > 1 && random_.chance(0.5))
      free_place(static_cast<size_t>(random_.integer(1, static_cast<int64_t>(place_bytes_.size()) - 1)));
  }

  void launch() {
    tick();
    const uint32_t number = correlation_++;
    const bool copy = random_.chance(0.2);
    int64_t& free_at = copy ? copies_at_ns_ : kernels_at_ns_;
    const int64_t begin = std::max(free_at, now_ns_) + random_.integer(0, 3000);
    const int64_t end = free_at = begin + random_.integer(1, copy ? 5'000 : 20'000);
    if (!hearing_.kernels) return;
    tell(profiler::DeviceActivity{
        begin, end, number, copy ? 14 : 7, copy ? random_.integer(1, 1 << 20) : 0,
        copy ? ActivityKind::copy : ActivityKind::kernel,
        copy ? "device to host" : "kernel " + std::to_string(random_.integer(0, 5))});
    if (random_.chance(0.95)) tell(profiler::ScopeOfCall{number, scope_});
  }

  uint64_t take_place(int64_t bytes) {
    uint64_t address = kSegment;
    std::vector<Place> sorted = place_bytes_;
    std::sort(sorted.begin(), sorted.end(),
              [](const Place& a, const Place& b) { return a.address < b.address; });
    for (const Place& place : sorted) {
      if (place.address >= address + static_cast<uint64_t>(bytes)) break;
      address = place.address + static_cast<uint64_t>(place.bytes);
    }
    place_bytes_.push_back({address, bytes, {}});
    return address;
  }
  void free_place(size_t i) {
    const Place place = place_bytes_[i];
    place_bytes_.erase(place_bytes_.begin() + static_cast<std::ptrdiff_t>(i));
    tell(profiler::Freed{tick(), place.address});
    change(place.kind, -place.bytes);
  }

  void take_segment() {
    segment_bytes_ = kSegmentBytes + (random_.chance(0.5) ? int64_t{2} << 20 : 0);  // the driver rounds
    if (hearing_.memory)
      tell(profiler::DriverMemoryChanged{tick(), kSegment, segment_bytes_, correlation_++});
    if (!hearing_.memory) tick();
    tell(profiler::SegmentChanged{tick(), kSegment, kSegmentBytes});
    of(MemoryKind::slack) += hearing_.memory ? segment_bytes_ : kSegmentBytes;
    note();
  }
  void release_segment() {
    tell(profiler::SegmentChanged{tick(), kSegment, -kSegmentBytes});
    of(MemoryKind::slack) = 0;
    note();
    if (hearing_.memory)
      tell(profiler::DriverMemoryChanged{tick(), kSegment, -segment_bytes_, correlation_++});
    segment_bytes_ = 0;
  }

  void take_library() {
    const int64_t bytes = 4096 * random_.integer(1, 5000);
    const uint64_t address = 0x700000000000 + (next_library_++ << 32);
    libraries_[address] = bytes;
    tick();
    if (hearing_.memory) tell(profiler::DriverMemoryChanged{now_ns_, address, bytes, correlation_++});
    change_libraries(bytes);
    // Pinned host memory must not count as GPU memory.
    if (hearing_.memory)
      tell(profiler::DriverMemoryChanged{tick(), address + 64, bytes, correlation_++,
                                         profiler::MemoryPlace::pinned});
  }
  void give_library() {
    if (libraries_.empty()) return;
    const auto [address, bytes] = *libraries_.begin();
    libraries_.erase(libraries_.begin());
    tick();
    if (hearing_.memory) tell(profiler::DriverMemoryChanged{now_ns_, address, -bytes, correlation_++});
    change_libraries(-bytes);
  }
  void change_pool() {
    const int64_t size = 4096 * random_.integer(0, 5000), change = size - pool_bytes_;
    pool_bytes_ = size;
    tick();
    if (hearing_.memory && random_.chance(0.5)) {
      tell(profiler::DriverPoolChanged{now_ns_, 77, size});
    } else if (hearing_.memory) {
      tell(profiler::DriverMemoryChanged{now_ns_, 0x710000000000, 512, correlation_++,
                                         profiler::MemoryPlace::device, 77, size});
    }
    change_libraries(change);
  }
  void change_libraries(int64_t bytes) {
    library_bytes_ += bytes;
    if (!hearing_.memory) return;
    of(MemoryKind::libraries) += bytes;
    note();
  }

  void count() {
    const int64_t all = context_bytes_ + library_bytes_ + segment_bytes_;
    tell(profiler::DriverCounted{tick(), all});
    int64_t claimed = -of(MemoryKind::context);
    for (int64_t bytes : live_) claimed += bytes;
    of(MemoryKind::context) = all - claimed;
    note();
  }

  Random random_;
  const Plan& plan_;
  const Hearing hearing_;
  CapturedDecode captured_;
  KindBytes live_{};
  std::vector<Place> place_bytes_;
  std::map<uint64_t, int64_t> libraries_;
  int64_t now_ns_ = 1'000'000'000, kernels_at_ns_ = 0, copies_at_ns_ = 0;
  int64_t segment_bytes_ = 0, library_bytes_ = 0, pool_bytes_ = 0, context_bytes_ = int64_t{300} << 20;
  uint32_t correlation_;
  uint64_t scopes_ = 0, next_library_ = 0;
  profiler::ScopeId scope_ = profiler::kNoScope;
};

inline CapturedDecode hear_decode(uint64_t seed, const Plan& plan, const Hearing& hearing = {}) {
  return DecodeMaker(seed, plan, hearing).make();
}

}  // namespace headroom::test
