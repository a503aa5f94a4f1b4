#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "decoder/gpu/calls/gpu.h"
#include "decoder/gpu/stream_layouts.h"
#include "decoder/gpu/transfers/host_weights.h"
#include "decoder/session/streams.h"

namespace headroom {

/// Streams on a GPU, in one reservation (decoder/gpu/stream_layouts.h). It exists while streams are open. A
/// stream that finds no room in it moves all streams to a larger one, through host memory. A plan for several
/// streams reserves memory for all of them.
class GpuStreams final : public Streams {
 public:
  /// Packs the weights for plans of this dtype in pinned host memory, where they stay. Throws what `source`
  /// throws, and LimitExceeded if the host cannot pin that much.
  GpuStreams(std::shared_ptr<const Model> model, std::shared_ptr<gpu::Gpu> gpu, Dtype dtype,
             const ParameterSource& source);
  ~GpuStreams() override;

  /// Also throws OutOfGpuMemory, DeviceError, and LimitExceeded if the plan's memory is less than its dry run
  /// needs. The open streams go on after any exception. They end only if the GPU also refuses to take their
  /// states back.
  std::unique_ptr<OpenStream> open(const StreamPlan& plan, std::span<const std::byte> state = {}) override;
  int64_t live_bytes() const override;

 private:
  class GpuStream;
  class Reservation;
  struct KnownLayouts {
    Plan plan;
    int64_t block = 1;
    std::shared_ptr<StreamLayouts> layouts;
  };
  struct MovedStream {
    GpuStream* stream;
    std::vector<std::byte> state;
  };
  static constexpr size_t kMostKnown = 4;

  std::shared_ptr<StreamLayouts> layouts_of(const StreamPlan& plan);
  /// Starts the stream, in a new reservation if there is no room in this one.
  void place(GpuStream& added);
  /// Offset of a free range behind the work. Empty if there is none.
  std::optional<int64_t> gap(int64_t bytes) const;
  /// Makes a reservation of this size, and starts these streams in it with their states. If this fails, they
  /// have ended. Call it after clear().
  void fill(int64_t work_bytes, int64_t bytes, std::span<const MovedStream> streams);
  /// Ends all placed streams, then frees the reservation.
  void clear();
  int64_t weights_bytes() const;

  const std::shared_ptr<gpu::Gpu> gpu_;
  const Dtype dtype_;
  std::optional<PinnedWeights> packed_;
  std::vector<KnownLayouts> known_;  ///< the last ones
  std::unique_ptr<Reservation> reservation_;
  std::vector<GpuStream*> placed_;  ///< the streams whose memory lies in the reservation
};

}  // namespace headroom
