#pragma once

#include <cstdint>

#include "decoder/interpreter/memory_meter.h"
#include "decoder/plan/plan.h"
#include "decoder/trace/trace.h"

namespace headroom {

/// Receives the events of a decode. The decoding thread calls it between steps, and within a step where a
/// function says so. Implementations must be quick.
class EventSink {
 public:
  virtual ~EventSink() = default;
  /// A sink that ignores all events.
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
  /// Progress within a long step, while other threads continue it. Optional: devices that only queue their
  /// work never report it.
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

  /// Kind and tensor of all allocations until the next call. Tensor -1 stands for all tensors.
  virtual void allocating(MemoryKind, TensorId) {}
  /// The allocation at this address, made since the last allocating(), holds a tile.
  virtual void holds_tile(const void* /*memory*/) {}
  /// GPU memory of this process. Reported before the decode, between its passes and after it; never on the
  /// CPU.
  struct DeviceMemoryUse {
    const void* reserved = nullptr;  ///< start of the session's reservation
    int64_t reserved_bytes = 0;
    int64_t driver_bytes = 0;  ///< all that the driver counts: the context, modules and libraries too
  };
  virtual void device_memory(const DeviceMemoryUse&) {}
  /// True if the sink needs device_memory(). Querying the driver is slow, so it happens only then.
  virtual bool watches_device_memory() const { return false; }
  /// A call in which this rank exchanged something with others (decoder/session/ranks.h).
  struct Exchanged {
    ExchangeCall call{};
    int64_t sent_bytes = 0;
    double seconds = 0;
  };
  virtual void exchanged(const Exchanged&) {}
  /// Observer of the decode's allocations. May be null.
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
