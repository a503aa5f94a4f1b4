#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "decoder/base/progress/progress.h"
#include "decoder/cpu/limited_pool.h"
#include "decoder/files/picture_sink.h"
#include "decoder/interpreter/events.h"

namespace headroom {

/// Reports a decode's progress and memory use. Call start_libraries() first, because growth outside the pool
/// counts from construction.
class ProgressEvents final : public ForwardingEvents, private MemoryObserver {
 public:
  /// `next` receives every event that this one receives; may be null. `graph` is used to weight the steps of
  /// long tiles. Without it all steps count equally.
  explicit ProgressEvents(Progress& progress, EventSink* next = nullptr, const Graph* graph = nullptr);

  /// The next decode advances the total progress from `begin_share` to `end_share`: 0 to 1 for a single
  /// decode.
  void start_part(double begin_share, double end_share);
  /// Reports the loaded share of the weights.
  void loading(double share);
  /// Reports a region that was written to the picture. Called on the writing thread.
  void emitted(const Region& region);

  void step_done(const Plan& plan, const StepDone& done) override;
  void step_part_done(const Plan& plan, const StepPart& part) override;
  void tile_started(const Plan& plan, int32_t pass, int64_t tile, int64_t tiles) override;
  MemoryObserver* memory_observer() override;

 private:
  void allocated(const void* memory, int64_t bytes, int64_t live_bytes, int64_t warm_bytes) override;
  void freed(const void* memory, int64_t bytes, int64_t live_bytes, int64_t warm_bytes) override;
  void moved(const void* from, const void* to) override;
  void start_micro_batch(const Plan& plan);
  void start_pass(const Plan& plan, size_t pass);
  void weigh_steps(const Plan& plan, const Pass& pass);
  /// Share of the whole progress, 0 to 1, once `done` tiles of the pass are done.
  double share(const Plan& plan, double done) const;
  void sample_memory();
  std::optional<PictureRegion> take_region();

  Progress& progress_;
  const Graph* graph_;
  MemoryObserver* next_observer_ = nullptr;
  double begin_share_ = 0, end_share_ = 1;
  int64_t item_ = 0;                                  ///< first item of the running micro-batch
  int64_t items_ = 0;                                 ///< number of its items
  int64_t tiles_ = 1;                                 ///< in the running pass
  std::vector<double> done_after_;                    ///< by step: share of a tile that is done after it
  std::chrono::steady_clock::time_point told_{};      ///< time of the last progress report
  double pass_begin_share_ = 0, pass_end_share_ = 0;  ///< as shares of the micro-batch
  std::mutex region_mutex_;
  std::optional<PictureRegion> region_;  ///< emitted since the last tile was done

  // Set under the pool's lock, on whichever thread allocates.
  std::atomic<int64_t> live_bytes_{0}, peak_bytes_{0}, resident_bytes_{0};
  int64_t resident_before_;
  std::chrono::steady_clock::time_point sampled_{};
};

/// Forwards a picture to `next` and reports each region. Measures how long writes block the constructing
/// thread. Writes on other threads do not delay the decode.
class ReportedSink final : public PictureSink {
 public:
  ReportedSink(PictureSink& next, ProgressEvents& events)
      : PictureSink(next.shape()), next_(next), events_(events) {}

  double waited_seconds() const { return std::chrono::duration<double>(waited_).count(); }

  PixelFormat format() const override { return next_.format(); }

 private:
  using Clock = std::chrono::steady_clock;

  void put(int64_t item, const Region& region, const float* pixels) override {
    const Clock::time_point begun = Clock::now();
    next_.write(item, region, pixels);
    if (std::this_thread::get_id() == maker_) waited_ += Clock::now() - begun;
    events_.emitted(region);
  }
  void put_bytes(int64_t item, const Region& region, const uint8_t* pixels) override {
    next_.write_bytes(item, region, pixels);
    events_.emitted(region);
  }
  void complete() override { next_.finish(); }

  PictureSink& next_;
  ProgressEvents& events_;
  const std::thread::id maker_ = std::this_thread::get_id();
  Clock::duration waited_{};
};

/// The first progress event of a decode by this plan.
RunBegun begun(const std::string& program, const Plan& plan);

}  // namespace headroom
