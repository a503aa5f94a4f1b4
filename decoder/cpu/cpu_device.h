#pragma once

#include <map>

#include "decoder/cpu/group_norm_statistics.h"
#include "decoder/cpu/limited_pool.h"
#include "decoder/cpu/linear_attention.h"
#include "decoder/cpu/packed_weights.h"
#include "decoder/graph/model.h"
#include "decoder/interpreter/device.h"
#include "decoder/plan/sizes.h"

namespace headroom {

/// Runs one step after another on the CPU, each on all threads. Memory comes from the pool. Tiles are fp32.
class CpuDevice final : public Device {
 public:
  /// All references must outlive the device.
  CpuDevice(const Graph& graph, const Sizes& sizes, PlannedWeights& weights, LimitedPool& pool)
      : graph_(graph), sizes_(sizes), weights_(weights), pool_(pool) {}

  std::shared_ptr<void> allocate(int64_t bytes, const InSeries&) override;
  DeviceTile make_tile(const Region& region, int64_t channels, int64_t items) override;
  int64_t live_bytes() const override { return pool_.live_bytes(); }
  void start_window() override { pool_.start_window(); }
  int64_t window_peak_bytes() const override { return pool_.window_peak_bytes(); }

  void load_latent(const Array& latent, int64_t first_item, const MapView& view, int64_t items) override;
  void emit(const MapView& source, const Region& region, int64_t first_item, int64_t items,
            const std::string& layer, PictureSink& sink) override;
  void finish_output() override {}
  void watch_calls(const CallShare& told) override { told_ = told; }

  void begin_pass(size_t pass) override { weights_.begin_pass(pass); }
  void end_pass() override { weights_.end_pass(); }

  void begin_statistics(TensorId id, int64_t items) override;
  void add_statistics(TensorId id, const MapView& source, const Region& region, int64_t items) override;
  void add_key_values(TensorId id, const std::vector<MapView>& inputs, const Region& region,
                      int64_t items) override;
  std::vector<double> statistics_values(const std::vector<TensorId>& ids) override;
  void set_statistics_values(const std::vector<TensorId>& ids, const std::vector<double>& values) override;
  void check_statistics(TensorId id, const std::string& layer) override;
  void forget_statistics(TensorId id) override;

  void gather(const MapView& source, const MapView& target, const Extent& picture, int64_t items) override;
  void copy(const MapView& source, const MapView& target, const Region& region, int64_t items) override;
  void add(const MapView& source, const MapView& target, Activation activation, const Region& region,
           int64_t items) override;
  void activate(const MapView& tile, Activation activation, const Region& region, int64_t items) override;
  void round(const MapView& tile, int64_t items) override;
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
  const OpWeights& weights_of(const Op& op) const { return weights_.of(graph_.tensor(op.output).producer); }

  const Graph& graph_;
  const Sizes sizes_;
  PlannedWeights& weights_;
  LimitedPool& pool_;
  std::vector<double> values_of(TensorId id) const;

  std::map<TensorId, GroupStatistics> statistics_;
  std::map<TensorId, KeyValueSums> sums_;
  CallShare told_;
  std::shared_ptr<float> attending_;  ///< the workspace of attention between its parts
};

}  // namespace headroom
