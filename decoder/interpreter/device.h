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

/// A tile of all items of a micro-batch, and what it lies in, which goes with the last copy.
struct DeviceTile {
  MapView view;
  std::shared_ptr<void> memory;

  bool empty() const { return memory == nullptr; }
};

/// One of several allocations that are best one behind the other: a convolution writes several blocks at once
/// where their rows follow one another.
struct InSeries {
  const void* before = nullptr;  ///< the one before it, where that is there
  int64_t blocks_after = 0;      ///< allocations of the same size that will follow it
};

/// Inputs and output of a convolution.
struct ConvolutionViews {
  const MapView& source;
  const MapView* residual = nullptr;  ///< added to the sums before they are rounded; may be the target
  const MapView& target;
};

/// Some keys of the attention of one frame's queries, which come one block after the other.
struct AttentionPart {
  const MapView& queries;  ///< with the rows and columns of the target
  const MapView& keys;     ///< a block of one item
  const MapView& values;   ///< the same positions
  const MapView& target;
  int64_t item = 0, frame = 0;  ///< of queries and target
  Interval key_frames;          ///< that count
  bool first = true, last = true;
};

/// Carries out the steps of tile programs for one plan, in memory of its own. The interpreter says what is to
/// be done, and when memory comes and goes; a device does it, at once or later, but in that order. Views that
/// are handed to it lie in its memory. Functions throw LimitExceeded and DeviceError.
class Device {
 public:
  virtual ~Device() = default;

  /// Memory for a block that is kept, until the last copy of the pointer is gone.
  virtual std::shared_ptr<void> allocate(int64_t bytes, const InSeries& series) = 0;
  /// A tile of values that are not set.
  virtual DeviceTile make_tile(const Region& region, int64_t channels, int64_t items) = 0;
  virtual int64_t live_bytes() const = 0;
  /// Live bytes at their highest since start_window().
  virtual void start_window() = 0;
  virtual int64_t window_peak_bytes() const = 0;

  /// Items of the latent, from C×T×H×W planes, to a view of fp32.
  virtual void load_latent(const Array& latent, int64_t first_item, const MapView& view, int64_t items) = 0;
  /// Hands a region to the sink, now or before finish_output() returns, perhaps on another thread. Throws
  /// DeviceError naming `layer` where a value is not finite, by then as well, and what the sink throws.
  virtual void emit(const MapView& source, const Region& region, int64_t first_item, int64_t items,
                    const std::string& layer, PictureSink& sink) = 0;
  virtual void finish_output() = 0;
  /// So far, with nothing to do but wait for what a sink is being given on another thread.
  virtual double output_wait_seconds() const { return 0; }

  /// A pass is about to begin: moves kept blocks to where they are to lie in it. Returns, by where
  /// blocks lay, where they lie now: whoever holds one goes on with that.
  virtual std::map<const void*, void*> move_blocks() { return {}; }
  /// Afterwards the parameters of the pass are there.
  virtual void begin_pass(size_t pass) = 0;
  virtual void end_pass() = 0;

  /// Called on the calling thread, within convolutions and attention that take long, with the share of the
  /// call that is done: 0 to 1, never falling, at the end 1. A device that only queues its work never calls
  /// it.
  using CallShare = std::function<void(double share)>;
  virtual void watch_calls(const CallShare& /*told*/) {}

  /// Until all that was asked for has been done: others are about to read what it made.
  virtual void finish_work() {}
  /// Null where the host reads and writes the device's memory by itself.
  virtual HostCopies* host_copies() { return nullptr; }

  // Statistics and sums, by the tensor that stands for them.
  virtual void begin_statistics(TensorId id, int64_t items) = 0;
  virtual void add_statistics(TensorId id, const MapView& source, const Region& region, int64_t items) = 0;
  virtual void add_key_values(TensorId id, const std::vector<MapView>& inputs, const Region& region,
                              int64_t items) = 0;
  /// The numbers that they consist of, tensor by tensor: count, mean and squared differences of each group of
  /// each set, or the sums; so many as statistics_values() of decoder/lowering/ranked_plan.h says. And these
  /// in their place: what other ranks have is among them.
  virtual std::vector<double> statistics_values(const std::vector<TensorId>& ids) = 0;
  virtual void set_statistics_values(const std::vector<TensorId>& ids, const std::vector<double>& values) = 0;
  /// Throws DeviceError naming `layer` where a NaN or an infinity went in, now or before finish_output()
  /// returns.
  virtual void check_statistics(TensorId id, const std::string& layer) = 0;
  /// Nothing will read them again.
  virtual void forget_statistics(TensorId id) = 0;

  // Steps. `picture` is the extent of what is made; regions lie inside it, but for tiles that reach outside
  // of it. There gather, normalise and upsample write zeros, and the others nothing: see fill_outside().
  virtual void gather(const MapView& source, const MapView& target, const Extent& picture, int64_t items) = 0;
  virtual void copy(const MapView& source, const MapView& target, const Region& region, int64_t items) = 0;
  /// Adds a region of `source` onto `target`; of the sums the activation.
  virtual void add(const MapView& source, const MapView& target, Activation activation, const Region& region,
                   int64_t items) = 0;
  /// The activation of a region of a tile, in place.
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
  /// Makes what lies outside the picture of its positions inside, which must hold what is copied.
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
  /// Between the first part and the last there is no other call. The target is there after the last.
  virtual void attend_part(const Op& op, const AttentionPart& part) = 0;
  virtual void attend_linearly(const Op& op, const std::vector<MapView>& inputs, const MapView& target,
                               const Region& region, int64_t items) = 0;
};

}  // namespace headroom
