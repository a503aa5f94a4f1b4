#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "decoder/gpu/calls/gpu.h"
#include "decoder/gpu/gpu_memory.h"
#include "decoder/gpu/gpu_output.h"
#include "decoder/gpu/gpu_weights.h"
#include "decoder/gpu/staged_copies.h"
#include "decoder/gpu/weights_ahead.h"
#include "decoder/graph/model.h"
#include "decoder/interpreter/device.h"
#include "decoder/lowering/gpu_layout.h"

namespace headroom {

/// Sources of a GPU's parameters. All of them must outlive the device.
struct WeightSource {
  const HostWeights& values;              ///< for passes that load their weights from pageable memory
  const GpuWeights* resident = nullptr;   ///< all parameters, if they stay on the GPU
  const PinnedWeights* pinned = nullptr;  ///< for passes that load their weights from pinned memory
  /// By pass, how early weights can be copied from pinned memory. Null: each pass copies its weights when it
  /// begins.
  const std::vector<WeightsAhead>* ahead = nullptr;
};

/// A Device that queues steps as calls on a GPU's compute stream, item by item. Steps wait for the GPU only
/// when they need a staging buffer. Tiles have the plan's dtype.
class GpuDevice : public Device {
 public:
  /// Works on the GPU of `staging`. All references must outlive the device.
  GpuDevice(const Graph& graph, const Plan& plan, GpuMemory& memory, const WeightSource& weights,
            PinnedStaging& staging);
  ~GpuDevice() override;

  std::shared_ptr<void> allocate(int64_t bytes, const InSeries& series) override;
  DeviceTile make_tile(const Region& region, int64_t channels, int64_t items) override;
  int64_t live_bytes() const override { return memory_.live_bytes(); }
  void start_window() override { memory_.start_window(); }
  int64_t window_peak_bytes() const override { return memory_.window_peak_bytes(); }

  void load_latent(const Array& latent, int64_t first_item, const MapView& view, int64_t items) override;
  void emit(const MapView& source, const Region& region, int64_t first_item, int64_t items,
            const std::string& layer, PictureSink& sink) override;
  void finish_output() override;
  double output_wait_seconds() const override { return output_.wait_seconds(); }

  std::map<const void*, void*> move_blocks() override;
  void begin_pass(size_t pass) override;
  void end_pass() override { of_pass_.reset(); }

  void finish_work() override { gpu_.wait_on_host(gpu_.record(gpu::Stream::compute)); }
  HostCopies* host_copies() override { return &copies_; }

  void begin_statistics(TensorId id, int64_t items) override;
  void add_statistics(TensorId id, const MapView& source, const Region& region, int64_t items) override;
  void add_key_values(TensorId id, const std::vector<MapView>& inputs, const Region& region,
                      int64_t items) override;
  std::vector<double> statistics_values(const std::vector<TensorId>& ids) override;
  void set_statistics_values(const std::vector<TensorId>& ids, const std::vector<double>& values) override;
  void check_statistics(TensorId id, const std::string& layer) override;
  void forget_statistics(TensorId) override {}

  void gather(const MapView& source, const MapView& target, const Extent& picture, int64_t items) override;
  void copy(const MapView& source, const MapView& target, const Region& region, int64_t items) override;
  void add(const MapView& source, const MapView& target, Activation activation, const Region& region,
           int64_t items) override;
  void activate(const MapView& tile, Activation activation, const Region& region, int64_t items) override;
  void round(const MapView&, int64_t) override {}  // tiles are stored in the plan's dtype
  void normalise(const Op& op, const MapView& source, const MapView& target, const Extent& picture,
                 int64_t items) override;
  void rms_normalise(const Op& op, const MapView& source, const MapView& target, const Region& region,
                     int64_t items) override;
  void upsample(const Op& op, const MapView& source, const MapView& target, const Extent& picture,
                int64_t items) override;
  void convolve(const Op& op, const ConvolutionViews& views, const Region& region, const Extent& picture,
                int64_t items) override;
  void fill_outside(const MapView& tile, Edges edges, const Extent& picture, int64_t items) override;
  void interpolate(const Op& op, const MapView& source, const MapView& target, const Extent& source_picture,
                   const Region& region, int64_t items) override;
  void unfold_frames(const MapView& first, const MapView& rest, const MapView& target, const Region& region,
                     int64_t items) override;
  void gate(const MapView& source, const MapView& target, const Region& region, int64_t items) override;
  void depth_to_space(const Op& op, const MapView& source, const MapView& target, const Region& region,
                      int64_t items) override;
  void attend(const Op& op, const MapView& queries, const MapView& keys, const MapView& values,
              const MapView& target, int64_t items) override;
  void attend_part(const Op& op, const AttentionPart& part) override;
  void attend_linearly(const Op& op, const std::vector<MapView>& inputs, const MapView& target,
                       const Region& region, int64_t items) override;

 private:
  void bring_weights(size_t pass);
  /// Queues the copy of the next pass's weights if their place is free.
  void bring_next_weights();
  gpu::Event copy_weights(size_t pass, std::byte* to);
  void make_affines(const Pass& pass);
  /// Memory ranges of the statistics on the GPU: tensor by tensor, item by item.
  std::vector<Span> statistics_spans(const std::vector<TensorId>& ids) const;
  std::byte* state_at(const gpu::StateLayout::Buffer& buffer, int64_t item) const {
    return static_cast<std::byte*>(state_.get()) + buffer.offset + item * buffer.item_bytes;
  }
  gpu::View view_of(const MapView& map, int64_t item) const;
  const GpuOpWeights& weights_of(const Op& op) const;
  template <typename Call>
  void run(const Call& call) {
    gpu_.run(call);
  }
  /// Workspace of one call. The caller frees it as soon as the call is queued.
  std::shared_ptr<void> workspace(int64_t bytes);

  const Graph& graph_;
  const Plan& plan_;
  const Sizes sizes_;
  GpuMemory& memory_;
  const WeightSource weights_;
  gpu::Gpu& gpu_;
  PinnedStaging& staging_;
  StagedCopies copies_;
  GpuOutput output_;
  const gpu::StateLayout layout_;  ///< layout of `state_`
  std::optional<GpuWeights> of_pass_;
  size_t pass_ = 0;
  std::optional<gpu::Event> next_weights_;  ///< copy of the next pass's weights, once queued
  std::shared_ptr<void> state_;
  struct Attending {
    std::shared_ptr<void> state, workspace;
  };
  Attending attending_;  ///< kept between the parts of attention
};

}  // namespace headroom
