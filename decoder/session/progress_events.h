#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "decoder/cpu/limited_pool.h"
#include "decoder/files/picture_sink.h"
#include "decoder/interpreter/events.h"
#include "decoder/progress/progress.h"

namespace headroom {

/// Tells how far a decode is, and what memory it has. start_libraries() first: growth outside the pool counts
/// from here.
class ProgressEvents final : public ForwardingEvents, private MemoryObserver {
 public:
  /// `next` receives every event that this one receives; may be null. `graph` weighs the steps of a tile that
  /// takes long; without it they count alike.
  explicit ProgressEvents(Progress& progress, EventSink* next = nullptr, const Graph* graph = nullptr);

  /// The next decode takes the whole's progress from `begin_share` to `end_share`: 0 to 1 where it is the
  /// only one.
  void start_part(double begin_share, double end_share);
  /// Weights are being brought in.
  void loading(double share);
  /// This has come to the picture; on whichever thread writes it.
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
  int64_t item_ = 0;                              ///< the first of the micro-batch that runs
  int64_t items_ = 0;                             ///< of that micro-batch
  int64_t tiles_ = 1;                             ///< of the pass that runs
  std::vector<double> done_after_;                ///< of a tile of the pass that runs, by its steps
  std::chrono::steady_clock::time_point told_{};  ///< when it was last said how far the decode is
  double pass_begin_share_ = 0, pass_share_ = 0;  ///< of its micro-batch
  std::mutex region_mutex_;
  std::optional<PictureRegion> region_;  ///< emitted since the last tile was done

  // Set under the pool's lock, on whichever thread allocates.
  std::atomic<int64_t> live_bytes_{0}, peak_bytes_{0}, resident_bytes_{0};
  int64_t resident_before_;
  std::chrono::steady_clock::time_point sampled_{};
};

/// Hands a picture on, and reports each region of it. Counts the time that writing blocks the thread that
/// made this sink. Writes by other threads do not hold up the decode.
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

/// The first news of a decode by this plan.
RunBegun begun(const std::string& program, const Plan& plan);

}  // namespace headroom
