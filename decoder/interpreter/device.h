#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "decoder/exchange/exchange.h"
#include "decoder/files/array.h"
#include "decoder/files/picture_sink.h"
#include "decoder/graph/graph.h"
#include "decoder/interpreter/map_view.h"
#include "decoder/interpreter/memory_meter.h"
#include "decoder/plan/plan.h"

namespace headroom {

class StreamFrames;
struct BlockFrames;

/// Copies between device memory and host memory, for devices whose memory the host cannot access.
class HostCopies {
 public:
  virtual ~HostCopies() = default;
  /// Copies the spans to `to`, one behind the other, after all work queued on the device so far. Returns when
  /// the values are there.
  virtual void to_host(const std::vector<Span>& from, std::byte* to) = 0;
  /// Copies `from` to the spans. Later work on the device finds the values there. The caller may reuse `from`
  /// on return.
  virtual void to_device(const std::byte* from, const std::vector<Span>& to) = 0;
};

/// A tile for all items of a micro-batch, and its allocation. The last copy frees the allocation.
struct DeviceTile {
  MapView view;
  std::shared_ptr<void> memory;

  bool empty() const { return memory == nullptr; }
};

/// Hint: place these blocks next to each other, so that one convolution can write several.
struct InSeries {
  const void* before = nullptr;  ///< the previous block, if it is in memory
  int64_t blocks_after = 0;      ///< allocations of the same size that will follow it
};

enum class StateOwner { device, kept_tensor, carried_tile };

/// Identifies memory that stays between the blocks of a stream. It is asked for again only after it was
/// freed.
struct StatePlace {
  StateOwner owner = StateOwner::device;
  int64_t number = 0;  ///< the tensor, or a carried tile's step
  int64_t band = 0;    ///< of a carried tile, or the number of a kept tensor's block
  // These three are set for carried tiles only.
  int64_t pass = 0, column = 0, item = 0;
  friend auto operator<=>(const StatePlace&, const StatePlace&) = default;
};

/// A block of keys and values of one item, for the attention of one frame's queries over all blocks in turn.
struct KeyBlock {
  int64_t item = 0, frame = 0;  ///< of the queries and the target
  Interval frames;              ///< key frames that the queries attend to
  bool first = true, last = true;
};

/// The work of one step on one tile, for all items of a micro-batch.
struct StepCall {
  OpKind kind{};
  const Op* op = nullptr;  ///< null for steps that only move values
  /// Without statistics. Adds have only the input that they add onto the target. Convolutions may have a
  /// second one, the residual, which may be the target itself.
  std::vector<MapView> inputs{};
  MapView target{};        ///< a tile or a kept tensor; unused by statistics
  Region region{};         ///< positions to write, or to add to statistics. May reach outside the picture
  Extent result_extent{};  ///< of the whole result tensor; positions outside it are outside the picture
  Extent source_extent{};  ///< of the whole tensor of the first input
  int64_t items = 1;
  /// Attention over one block of keys and values: `inputs` are the queries and the block. Make no other call
  /// between the first block and the last. The target is complete after the last.
  std::optional<KeyBlock> block{};

  Region inside() const { return headroom::inside(region, result_extent); }
  Activation activation() const { return op != nullptr ? op->activation : Activation::none; }
};

/// Statistics and sums on a device, identified by the tensor that represents them. Steps add to them by
/// Device::run().
class DeviceStatistics {
 public:
  virtual ~DeviceStatistics() = default;
  /// `frames` are those of the measured tensor that the run measures.
  virtual void begin(TensorId id, int64_t items, const Interval& frames) = 0;
  /// Statistics as plain numbers, tensor by tensor: count, mean and squared differences of each group of each
  /// set, or the sums. statistics_values() of decoder/schedule/transfers.h gives their number.
  virtual std::vector<double> values(const std::vector<TensorId>& ids) = 0;
  /// Replaces them by the values merged over all ranks.
  virtual void set_values(const std::vector<TensorId>& ids, const std::vector<double>& values) = 0;
  /// Throws InputError naming `layer` if an input was NaN or infinite. Device::finish_output() may throw it
  /// instead.
  virtual void check(TensorId id, const std::string& layer) = 0;
  /// Frees statistics that no later step reads.
  virtual void forget(TensorId id) = 0;
};

/// Runs the steps of one plan's tile programs, in memory of its own. The interpreter decides the order of
/// steps and allocations. A device may queue the work, but keeps that order. All views must lie in the
/// device's memory. Functions throw LimitExceeded and DeviceError.
class Device {
 public:
  virtual ~Device() = default;

  /// Allocates a block of a kept tensor. The last copy of the pointer frees it.
  virtual std::shared_ptr<void> allocate(int64_t bytes, const InSeries& series) = 0;
  /// Allocates a tile. Its values are uninitialised.
  virtual DeviceTile make_tile(const Region& region, int64_t channels, int64_t items) = 0;
  virtual MemoryMeter& memory() = 0;

  // Memory that stays between the blocks of a stream.
  /// Like allocate(), for frames of a kept tensor.
  virtual std::shared_ptr<void> allocate_state(const StatePlace& /*place*/, int64_t bytes) {
    return allocate(bytes, {});
  }
  /// Like make_tile(), for a tile that a step carries along the time. `place` is that of the first item.
  virtual DeviceTile make_state_tile(const StatePlace& /*place*/, const Region& region, int64_t channels,
                                     int64_t items) {
    return make_tile(region, channels, items);
  }
  /// Call before each block of a stream. `before` is where the stream is.
  virtual void begin_block(const StreamFrames& /*before*/, const BlockFrames& /*block*/) {}

  /// Copies items of the latent, stored as C×T×H×W planes, into an fp32 view.
  virtual void load_latent(const ArrayView& latent, int64_t first_item, const MapView& view,
                           int64_t items) = 0;
  /// Writes a region to the sink, perhaps on another thread, at the latest before finish_output() returns.
  /// Throws InputError naming `layer` if a value is not finite, and what the sink throws. finish_output() may
  /// throw these errors instead.
  virtual void emit(const MapView& source, const Region& region, int64_t first_item, int64_t items,
                    const std::string& layer, PictureSink& sink) = 0;
  virtual void finish_output() = 0;
  /// Seconds so far in which the decode only waited for another thread to write to a sink.
  virtual double output_wait_seconds() const { return 0; }

  /// Moves kept blocks to their addresses in the pass that is about to begin. Returns the new address of each
  /// moved block by its old one. Holders of a block must switch to the new address.
  virtual std::map<const void*, void*> move_blocks() { return {}; }
  /// Makes the parameters of the pass available on the device.
  virtual void begin_pass(size_t pass) = 0;
  virtual void end_pass() = 0;

  /// Progress callback of long convolutions and attention, on the calling thread. `share` is the part of the
  /// call that is done. It never falls and ends at 1. A device that only queues its work never calls it.
  using CallShare = std::function<void(double share)>;
  virtual void watch_calls(const CallShare& /*told*/) {}

  /// Waits for all queued work, because others are about to read its results.
  virtual void finish_work() {}
  /// Null if the host can access the device's memory directly.
  virtual HostCopies* host_copies() { return nullptr; }

  virtual DeviceStatistics& statistics() = 0;

  /// Runs a step's operation, or moves values. Gather, norm, upsample and activate write zeros outside the
  /// picture. Conv, rms_norm and modulate leave these positions undefined, and the interpreter then calls
  /// fill_outside(). Other steps have no positions there. The kind must not be emit.
  virtual void run(const StepCall& call) = 0;
  /// Rounds a tile's values as storing and reading them back would.
  virtual void round(const MapView& tile, int64_t items) = 0;
  /// Fills a tile's positions outside the picture, by `edges`. The tile must hold the positions inside that
  /// are copied.
  virtual void fill_outside(const MapView& tile, Edges edges, const Extent& picture, int64_t items) = 0;

  /// Copies a region that both views hold.
  void copy(const MapView& source, const MapView& target, const Region& region, int64_t items) {
    run({.kind = OpKind::store, .inputs = {source}, .target = target, .region = region, .items = items});
  }
};

}  // namespace headroom
