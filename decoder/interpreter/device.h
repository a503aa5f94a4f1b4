#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "decoder/files/array.h"
#include "decoder/files/picture_sink.h"
#include "decoder/graph/graph.h"
#include "decoder/interpreter/host_copies.h"
#include "decoder/interpreter/map_view.h"
#include "decoder/plan/plan.h"

namespace headroom {

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

/// Inputs and output of a convolution.
struct ConvolutionViews {
  const MapView& source;
  const MapView* residual = nullptr;  ///< added to the sums before they are rounded; may be the target
  const MapView& target;
};

/// One block of keys and values, for the attention of one frame's queries over all blocks in turn.
struct AttentionPart {
  const MapView& queries;  ///< with the rows and columns of the target
  const MapView& keys;     ///< a block of one item
  const MapView& values;   ///< the same positions
  const MapView& target;
  int64_t item = 0, frame = 0;  ///< of queries and target
  Interval key_frames;          ///< key frames that the queries attend to
  bool first = true, last = true;
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
  virtual int64_t live_bytes() const = 0;
  /// window_peak_bytes() is the peak of live_bytes() since start_window().
  virtual void start_window() = 0;
  virtual int64_t window_peak_bytes() const = 0;

  /// Copies items of the latent, stored as C×T×H×W planes, into an fp32 view.
  virtual void load_latent(const Array& latent, int64_t first_item, const MapView& view, int64_t items) = 0;
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

  // Statistics and sums, identified by the tensor that represents them.
  virtual void begin_statistics(TensorId id, int64_t items) = 0;
  virtual void add_statistics(TensorId id, const MapView& source, const Region& region, int64_t items) = 0;
  virtual void add_key_values(TensorId id, const std::vector<MapView>& inputs, const Region& region,
                              int64_t items) = 0;
  /// Statistics as plain numbers, tensor by tensor: count, mean and squared differences of each group of each
  /// set, or the sums. statistics_values() of decoder/lowering/ranked_plan.h gives their number.
  /// set_statistics_values() replaces them by the values merged over all ranks.
  virtual std::vector<double> statistics_values(const std::vector<TensorId>& ids) = 0;
  virtual void set_statistics_values(const std::vector<TensorId>& ids, const std::vector<double>& values) = 0;
  /// Throws InputError naming `layer` if an input was NaN or infinite. finish_output() may throw it instead.
  virtual void check_statistics(TensorId id, const std::string& layer) = 0;
  /// Frees statistics that no later step reads.
  virtual void forget_statistics(TensorId id) = 0;

  // Steps. `picture` is the extent of the output tensor. Only tiles may reach outside it. There gather,
  // normalise and upsample write zeros. The other steps write nothing: see fill_outside().
  virtual void gather(const MapView& source, const MapView& target, const Extent& picture, int64_t items) = 0;
  virtual void copy(const MapView& source, const MapView& target, const Region& region, int64_t items) = 0;
  /// Adds a region of `source` onto `target`, then applies the activation.
  virtual void add(const MapView& source, const MapView& target, Activation activation, const Region& region,
                   int64_t items) = 0;
  /// Applies the activation to a region of a tile, in place.
  virtual void activate(const MapView& tile, Activation activation, const Region& region, int64_t items) = 0;
  /// Rounds values as storing and reading them back would.
  virtual void round(const MapView& tile, int64_t items) = 0;
  virtual void normalise(const Op& op, const MapView& source, const MapView& target, const Extent& picture,
                         int64_t items) = 0;
  virtual void rms_normalise(const Op& op, const MapView& source, const MapView& target, const Region& region,
                             int64_t items) = 0;
  virtual void upsample(const Op& op, const MapView& source, const MapView& target, const Extent& picture,
                        int64_t items) = 0;
  /// `region` may lie partly outside the picture. Residuals on CUDA alone.
  virtual void convolve(const Op& op, const ConvolutionViews& views, const Region& region,
                        const Extent& picture, int64_t items) = 0;
  /// Fills a tile's positions outside the picture, by `edges`. The tile must hold the positions inside that
  /// are copied.
  virtual void fill_outside(const MapView& tile, Edges edges, const Extent& picture, int64_t items) = 0;
  virtual void interpolate(const Op& op, const MapView& source, const MapView& target,
                           const Extent& source_picture, const Region& region, int64_t items) = 0;
  virtual void unfold_frames(const MapView& first, const MapView& rest, const MapView& target,
                             const Region& region, int64_t items) = 0;
  virtual void gate(const MapView& source, const MapView& target, const Region& region, int64_t items) = 0;
  virtual void depth_to_space(const Op& op, const MapView& source, const MapView& target,
                              const Region& region, int64_t items) = 0;
  /// `queries` has the rows and columns of `target`.
  virtual void attend(const Op& op, const MapView& queries, const MapView& keys, const MapView& values,
                      const MapView& target, int64_t items) = 0;
  /// Make no other call between the first part and the last. The target is complete after the last part.
  virtual void attend_part(const Op& op, const AttentionPart& part) = 0;
  virtual void attend_linearly(const Op& op, const std::vector<MapView>& inputs, const MapView& target,
                               const Region& region, int64_t items) = 0;
};

}  // namespace headroom
