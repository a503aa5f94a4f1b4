#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "decoder/base/errors.h"
#include "decoder/gpu/calls/gpu.h"
#include "decoder/gpu/placement/memory_requests.h"
#include "decoder/gpu/placement/placement.h"
#include "decoder/graph/graph.h"
#include "decoder/interpreter/device.h"
#include "decoder/interpreter/events.h"
#include "decoder/interpreter/memory_meter.h"
#include "decoder/plan/plan.h"

namespace headroom {

/// The card has too little free memory for a plan, because other processes use it. A smaller plan may still
/// fit.
class OutOfGpuMemory : public DoesNotFit {
 public:
  /// `bytes` is the size that the card refused.
  OutOfGpuMemory(const gpu::Gpu& gpu, int64_t bytes);
};

/// Largest limit for a plan beside the card's current users: the free bytes less 512 MiB, but at least 0.
/// Libraries allocate up to that much when they first run.
int64_t limit_on_card(const gpu::Gpu& gpu);

/// RAII reservation of GPU memory.
class GpuReservation {
 public:
  /// Throws OutOfGpuMemory if the card has too little memory.
  GpuReservation(gpu::Gpu& gpu, int64_t bytes) : gpu_(gpu) {
    try {
      base_ = gpu.reserve(bytes);
    } catch (const LimitExceeded&) {
      gpu.release();
      throw OutOfGpuMemory(gpu, bytes);
    } catch (...) {
      gpu.release();
      throw;
    }
  }
  ~GpuReservation() { gpu_.release(); }
  GpuReservation(const GpuReservation&) = delete;
  GpuReservation& operator=(const GpuReservation&) = delete;

  std::byte* base() const { return base_; }

 private:
  gpu::Gpu& gpu_;
  std::byte* base_ = nullptr;
};

/// Stack-like allocator of offsets in one memory range: each new block lies behind all live ones.
class StackedOffsets {
 public:
  explicit StackedOffsets(int64_t bytes) : bytes_(bytes) {}

  /// Allocates `bytes` and returns their offset. Throws LimitExceeded if the range is too small.
  int64_t take(int64_t bytes);
  void give_back(int64_t offset) noexcept;
  /// Highest end offset so far.
  int64_t most_bytes() const { return most_bytes_; }

 private:
  int64_t bytes_;
  int64_t most_bytes_ = 0;
  std::map<int64_t, int64_t> live_;  ///< end offset by offset
};

/// The offset of each place in the state of a stream. A place has the most bytes that any block asks for.
class StateSlots {
 public:
  struct Slot {
    int64_t offset = 0, bytes = 0;
  };

  /// Makes the place as large as this, if it is smaller.
  void enlarge(const StatePlace& place, int64_t bytes) {
    Slot& slot = slots_[place];
    slot.bytes = std::max(slot.bytes, bytes);
  }
  /// Gives each place its offset.
  void arrange() {
    bytes_ = 0;
    for (auto& [place, slot] : slots_) bytes_ += (slot.offset = bytes_, slot.bytes);
  }
  /// Throws LimitExceeded if the place is smaller.
  const Slot& of(const StatePlace& place, int64_t bytes) const;
  /// Throws LimitExceeded if a place is larger than this state's.
  void require(const StateSlots& other) const {
    for (const auto& [place, slot] : other.slots_) of(place, slot.bytes);
  }
  int64_t bytes() const { return bytes_; }

 private:
  std::map<StatePlace, Slot> slots_;
  int64_t bytes_ = 0;
};

/// The memory of a decode on a GPU, in one reservation. It has four modes:
/// - A dry run records the requests.
/// - A decode gets each request at its offset in the placement. The decode must make the requests of its dry
///   run in the same order.
/// - A stream is a decode whose requests and placement are those of its running block. Its state has a region
///   of its own, with a fixed offset for each place. A dry run of a block records only the other requests.
/// - Profiling of single steps has no dry run. Each request gets an offset behind all live ones.
///
/// Memory that a caller returns can be reused at once, since the GPU runs work in the order of queuing.
class GpuMemory : public MemoryMeter, public std::enable_shared_from_this<GpuMemory> {
 public:
  /// For a dry run: records requests. There is no memory at the addresses that it returns.
  GpuMemory() = default;
  /// For a decode: serves `requests` at `base` plus the offsets of `placement`. Both must outlive it.
  /// `held_bytes` of the reservation have another owner and always count as live.
  GpuMemory(std::byte* base, const MemoryRequests& requests, const Placement& placement, int64_t held_bytes)
      : base_(base),
        expected_(&requests),
        placement_(&placement),
        held_bytes_(held_bytes),
        live_bytes_(held_bytes) {}
  /// For dry runs of a stream's blocks. Records the places of the state in `state`, which must outlive it.
  explicit GpuMemory(StateSlots& state) : wanted_(&state) {}
  /// For a stream: serves blocks at `base`, and its state at `state_base`, which lies behind. `state` must
  /// outlive it. Call serve() before each block.
  GpuMemory(std::byte* base, std::byte* state_base, const StateSlots& state)
      : base_(base), slots_(&state), state_base_(state_base) {}
  /// For profiling of steps: allocates from the `bytes` at `base`.
  GpuMemory(std::byte* base, int64_t bytes) : base_(base), stacked_(bytes) {}
  /// For sizing steps: like the constructor above, but no memory backs the addresses.
  explicit GpuMemory(int64_t bytes) : stacked_(bytes) {}

  /// Throws std::logic_error if a decode's request differs from its dry run. Throws LimitExceeded if the
  /// memory for profiled steps is too small.
  std::shared_ptr<void> allocate(int64_t bytes) { return give(bytes, {}, false); }
  /// Allocates a block that may move between passes. Throws as allocate() does.
  std::shared_ptr<void> allocate_block(int64_t bytes, const InSeries& series) {
    return give(bytes, series, true);
  }
  /// Allocates memory of a stream's state. For other decodes, like allocate().
  std::shared_ptr<void> allocate_state(const StatePlace& place, int64_t bytes);
  /// Begins a block of a stream. Both must outlive it.
  void serve(const MemoryRequests& requests, const Placement& placement);
  /// Ends a block of a dry run, and returns its requests.
  MemoryRequests take_requests();
  /// Continues at this event of the dry run: all micro-batches of a size make the same requests.
  void go_to(size_t event);
  /// The next event of the dry run.
  size_t next_event() const { return next_; }
  /// Call when a pass begins. Calls copy() for the moves that are due, in order, with adjacent ones merged.
  /// Records the new offsets. Returns a map from old to new addresses of the moved blocks.
  std::map<const void*, void*> move_blocks(
      const std::function<void(void* to, const void* from, int64_t bytes)>& copy);

  void begin_pass() { recorded_.begin_pass(); }
  void begin_scope() { recorded_.begin_scope(); }
  void begin_repeat(int64_t of) { recorded_.begin_repeat(of); }
  void end_repeat() { recorded_.end_repeat(); }
  const MemoryRequests& requests() const { return recorded_; }
  /// Reports to `observer` until the observation ends; null for none. Reports the `held_bytes` as allocated
  /// first and freed last, at addresses just below base().
  Observation observe(MemoryObserver* observer);
  int64_t live_bytes() const override { return live_bytes_; }
  void start_window() override { window_peak_bytes_ = live_bytes_; }
  int64_t window_peak_bytes() const override { return window_peak_bytes_; }
  int64_t state_bytes() const { return state_bytes_; }  ///< live bytes of a stream's state
  /// The most live bytes beside the state.
  int64_t most_work_bytes() const { return most_work_bytes_; }
  /// Most bytes that profiled steps needed so far; 0 for a decode or a dry run.
  int64_t most_bytes() const { return stacked_ ? stacked_->most_bytes() : 0; }
  /// Base of the block offsets in views.
  std::byte* base() const { return base_; }

 private:
  struct Given {
    int64_t number = 0;  ///< of the request; the offset for profiled steps
    int64_t offset = 0;
  };
  std::shared_ptr<void> give(int64_t bytes, const InSeries& series, bool movable);
  void count(int64_t bytes);
  Given ask(int64_t bytes, const InSeries& series, bool movable);
  static MemoryObserver& nobody();
  void hand_back(const void* memory, int64_t number, int64_t bytes) noexcept;

  std::byte* base_ = reinterpret_cast<std::byte*>(uintptr_t{1} << 32);
  MemoryRequests recorded_;
  int64_t recorded_bytes_ = 0;
  /// By address; requests whose series continues.
  std::unordered_map<const void*, int64_t> recorded_numbers_;
  std::optional<StackedOffsets> stacked_;
  const MemoryRequests* expected_ = nullptr;
  const Placement* placement_ = nullptr;
  StateSlots* wanted_ = nullptr;
  const StateSlots* slots_ = nullptr;
  std::byte* state_base_ = nullptr;
  size_t next_ = 0;
  size_t next_move_ = 0;
  std::unordered_map<int64_t, int64_t> moved_;  ///< offsets of blocks that were moved, by number
  bool as_run_dry_ = true;
  int64_t held_bytes_ = 0;
  int64_t live_bytes_ = 0, most_work_bytes_ = 0, state_bytes_ = 0;
  int64_t window_peak_bytes_ = 0;
  MemoryObserver* observer_ = &nobody();
};

/// Listens to a dry run and marks passes, scopes and repeats in its requests. Each tile is a scope, since
/// most tiles make the same requests as the tile before. A column of tiles, or a chunk of frames, that makes
/// the requests of an earlier one is marked as its repeat.
class RequestScopes final : public ForwardingEvents {
 public:
  /// All references must outlive it.
  RequestScopes(GpuMemory& memory, const Graph& graph, const Extent& latent, EventSink* listener)
      : ForwardingEvents(listener), memory_(memory), graph_(graph), latent_(latent) {}
  /// For the blocks of a stream, whose chunks are not those of the plan: marks no chunk as a repeat.
  RequestScopes(GpuMemory& memory, const Graph& graph, const Extent& latent)
      : ForwardingEvents(nullptr), memory_(memory), graph_(graph), latent_(latent), of_stream_(true) {}

  void pass_started(const Plan& plan, int32_t pass) override;
  void tile_started(const Plan& plan, int32_t pass, int64_t tile, int64_t tiles) override;
  /// Ends the last column.
  void finish() { end_column(); }
  /// The first event of each pass.
  const std::vector<size_t>& passes() const { return passes_; }

 private:
  /// Columns of a band, or chunks of a column.
  struct Tiles {
    std::vector<size_t> like;
    std::vector<int64_t> first_requests;  ///< first request of each
    bool repeats = false;                 ///< the current one repeats an earlier one
  };

  void begin(Tiles& tiles, size_t number);
  void end_chunk();
  void end_column();

  GpuMemory& memory_;
  const Graph& graph_;
  const Extent latent_;
  const bool of_stream_ = false;
  std::vector<size_t> passes_;
  Tiles columns_, chunks_;
};

}  // namespace headroom
