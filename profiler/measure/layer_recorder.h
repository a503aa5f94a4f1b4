#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "decoder/interpreter/events.h"
#include "decoder/plan/sizes.h"
#include "profiler/profile/profile.h"

namespace headroom::profiler {

/// Measures the time of a decode's steps.
class StepTimer {
 public:
  virtual ~StepTimer() = default;
  /// Called just before a step begins.
  virtual void start() {}
  /// Seconds of the step that has just finished.
  virtual double seconds(const EventSink::StepDone& done) { return done.seconds; }
};

/// Records one measurement per operation, and the step with the most live bytes. If a decode is repeated, the
/// shortest time of each operation counts.
class LayerRecorder final : public EventSink {
 public:
  /// `progress` receives the share done and the pass's name. All references must outlive the recorder.
  LayerRecorder(const Graph& graph, const Sizes& sizes, StepTimer& timer,
                std::function<void(double, const std::string&)> progress)
      : graph_(graph), sizes_(sizes), timer_(timer), progress_(std::move(progress)) {}

  void tile_started(const Plan&, int32_t, int64_t, int64_t) override { timer_.start(); }
  void step_done(const Plan& plan, const StepDone& done) override;

  const LayerMeasurement& layer(OpId op) const { return layers_.at(op); }
  const StepDone& peak() const { return peak_; }

 private:
  void record(const Step& step, const StepDone& done, double seconds);
  void record_added(OpId add, const StepDone& done);
  /// Measurement without time and workspace.
  LayerMeasurement measured_of(OpId id, const StepDone& done) const;

  const Graph& graph_;
  Sizes sizes_;
  StepTimer& timer_;
  std::function<void(double, const std::string&)> progress_;
  std::map<OpId, LayerMeasurement> layers_;
  StepDone peak_;
};

/// Live tensors at the peak of an untiled decode, largest first: weights, latent, statistics, kept tensors
/// and tiles. The remaining bytes are listed as workspace.
std::vector<LiveTensor> live_at(const EventSink::StepDone& peak, const Plan& plan, const Graph& graph,
                                const Sizes& sizes);

}  // namespace headroom::profiler
