#pragma once

#include <cstdint>

#include "decoder/interpreter/memory_observer.h"
#include "decoder/plan/plan.h"
#include "decoder/trace/trace.h"

namespace headroom {

/// Receives the events of a decode. The decoding thread calls it between steps, and within a step where a
/// function says so. Implementations must be quick.
class EventSink {
 public:
  virtual ~EventSink() = default;
  /// For decodes to which nobody listens.
  static EventSink& none();

  struct StepDone {
    int64_t item = 0;  ///< first batch item of the micro-batch
    int32_t pass = 0;
    int64_t tile = 0;
    int32_t step = 0;
    int64_t live_before_bytes = 0;
    int64_t live_after_bytes = 0;
    int64_t peak_bytes = 0;  ///< live bytes at their highest while the step ran
    double seconds = 0;
  };
  virtual void step_done(const Plan&, const StepDone&) {}
  /// Part of a step that takes long, while other threads go on with it. Nobody may rely on being told:
  /// devices that only queue their work do not know.
  struct StepPart {
    int32_t pass = 0;
    int64_t tile = 0;
    int32_t step = 0;
    double share = 0;  ///< of the step that is done, 0 to 1; never falls within it
  };
  virtual void step_part_done(const Plan&, const StepPart&) {}
  /// Before anything of the pass, its parameters included.
  virtual void pass_started(const Plan&, int32_t /*pass*/) {}
  /// Before the tile's first step.
  virtual void tile_started(const Plan&, int32_t /*pass*/, int64_t /*tile*/, int64_t /*tiles*/) {}

  /// Later allocations are of this kind, for this tensor (-1: for all).
  virtual void allocating(MemoryKind, TensorId) {}
  /// The memory that was asked for since then at this address holds a tile.
  virtual void holds_tile(const void* /*memory*/) {}
  /// A GPU's memory as this process has it, when something of it may have changed: before the decode, between
  /// its passes and after it. Never on the CPU.
  struct DeviceMemoryUse {
    const void* reserved = nullptr;  ///< where the memory begins that this decode's session has taken
    int64_t reserved_bytes = 0;
    int64_t driver_bytes = 0;  ///< all that the driver counts: the context, modules and libraries too
  };
  virtual void device_memory(const DeviceMemoryUse&) {}
  /// Asking the driver takes its time: only where somebody wants to know.
  virtual bool watches_device_memory() const { return false; }
  /// A call in which this rank exchanged something with others (decoder/session/watched_exchange.h).
  struct Exchanged {
    ExchangeCall call{};
    int64_t sent_bytes = 0;
    double seconds = 0;
  };
  virtual void exchanged(const Exchanged&) {}
  /// Reported of the decode's allocations; null where nobody is to be.
  virtual MemoryObserver* memory_observer() { return nullptr; }
};

inline EventSink& EventSink::none() {
  static EventSink sink;
  return sink;
}

/// Hands on every event to another sink. `next` may be null.
class ForwardingEvents : public EventSink {
 public:
  explicit ForwardingEvents(EventSink* next) : next_(next != nullptr ? *next : none()) {}

  void pass_started(const Plan& plan, int32_t pass) override { next_.pass_started(plan, pass); }
  void step_done(const Plan& plan, const StepDone& done) override { next_.step_done(plan, done); }
  void step_part_done(const Plan& plan, const StepPart& part) override { next_.step_part_done(plan, part); }
  void tile_started(const Plan& plan, int32_t pass, int64_t tile, int64_t tiles) override {
    next_.tile_started(plan, pass, tile, tiles);
  }
  void allocating(MemoryKind kind, TensorId tensor) override { next_.allocating(kind, tensor); }
  void holds_tile(const void* memory) override { next_.holds_tile(memory); }
  void device_memory(const DeviceMemoryUse& use) override { next_.device_memory(use); }
  bool watches_device_memory() const override { return next_.watches_device_memory(); }
  void exchanged(const Exchanged& done) override { next_.exchanged(done); }
  MemoryObserver* memory_observer() override { return next_.memory_observer(); }

 private:
  EventSink& next_;
};

}  // namespace headroom
